/** RPM packages by rpmbuild, which Debian has in the package `rpm`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BuildError, projectVersion } from '../project.mjs';
import { SUMMARY, sourceTime } from './contents.mjs';

const ARCHITECTURES = { 'linux-x64': 'x86_64', 'linux-arm64': 'aarch64' };

/** The version in RPM's order: `1.0.0-rc.1` must come before `1.0.0`. */
const rpmVersion = () => projectVersion().replace('-', '~');

export const rpmName = (target) => `mcpx-${rpmVersion()}-1.${ARCHITECTURES[target]}.rpm`;

export const hasRpmbuild = () => spawnSync('rpmbuild', ['--version']).status === 0;

/** Where Fedora has files that Debian has in other places. */
const PLACES = new Map([
  ['usr/share/doc/mcpx/copyright', 'usr/share/licenses/mcpx/LICENSE'],
  ['usr/share/zsh/vendor-completions/_mcpx', 'usr/share/zsh/site-functions/_mcpx'],
]);

/** The files in their places on Fedora. */
export const placed = (files) => files.map((file) => ({ ...file, system: PLACES.get(file.system) ?? file.system }));

const attributeOf = (system) =>
  system.startsWith('usr/share/licenses/') ? '%license ' : system.startsWith('usr/share/doc/') ? '%doc ' : '';

/** The folders of a file that belong to the package, so that they are removed with it: `mcpx`, and those inside. */
function ownFolders(system) {
  const parts = system.split('/').slice(0, -1);
  const first = parts.indexOf('mcpx');
  return first < 0 ? [] : parts.slice(first).map((_, index) => parts.slice(0, first + index + 1).join('/'));
}

/** The package takes files that exist already: nothing is built, stripped or searched for dependencies. */
export function spec(files) {
  const listed = files.map(({ system }) => `${attributeOf(system)}/${system}${system.includes('/man/') ? '*' : ''}`);
  const folders = [...new Set(files.flatMap(({ system }) => ownFolders(system)))].sort();
  return [
    '%global debug_package %{nil}',
    '%global __strip /bin/true',
    '%global __os_install_post %{nil}',
    '%global _build_id_links none',
    '%global source_date_epoch_from_changelog 0',
    '%global use_source_date_epoch_as_buildtime 1',
    '%global clamp_mtime_to_source_date_epoch 1',
    '%global _buildhost localhost',
    'Name: mcpx',
    `Version: ${rpmVersion()}`,
    'Release: 1',
    `Summary: ${SUMMARY}`,
    'License: MIT',
    'AutoReqProv: no',
    'Requires: glibc >= 2.28, libstdc++',
    '%description',
    'mcpx is an aggregator, an HTTP gateway and a command line for servers of the',
    'Model Context Protocol. The executable needs no Node and no network.',
    '%install',
    'cp -a %{files_of_mcpx}/. %{buildroot}',
    '%files',
    ...folders.map((folder) => `%dir /${folder}`),
    ...listed,
    '',
  ].join('\n');
}

/** The bytes of the package. */
export function rpm(target, files) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-rpm-'));
  try {
    const root = join(folder, 'files');
    const inPlace = placed(files);
    for (const { system, data, mode = 0o644 } of inPlace) {
      mkdirSync(dirname(join(root, system)), { recursive: true });
      writeFileSync(join(root, system), data, { mode });
    }
    writeFileSync(join(folder, 'mcpx.spec'), spec(inPlace));
    const define = (name, value) => ['--define', `${name} ${value}`];
    const options = [...define('_topdir', folder), ...define('files_of_mcpx', root)];
    const { status, stderr } = spawnSync(
      'rpmbuild',
      ['-bb', '--target', `${ARCHITECTURES[target]}-linux`, ...options, join(folder, 'mcpx.spec')],
      { encoding: 'utf8', env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceTime()) } },
    );
    if (status !== 0) throw new BuildError(`rpmbuild failed: ${stderr.slice(-1000)}`);
    return readFileSync(join(folder, 'RPMS', ARCHITECTURES[target], rpmName(target)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
