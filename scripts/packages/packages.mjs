/**
 * npm run packages: everything of a release that is not an executable, from the executables in dist/, into dist/release/.
 *   --repository <owner/name>   the repository whose releases the installers and channels download from
 *   --target <name>             only this target; repeatable (default: every executable that is there)
 *   --fast                      no .tar.xz and no .rpm
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { formatSize, log, logStep } from '../log.mjs';
import { at, BuildError, executableName, hostTarget, isMain, projectVersion, runMain, TARGETS } from '../project.mjs';
import { bundle } from '../release/bundle.mjs';
import { nodeLock, pinnedNode } from '../release/node.mjs';
import { gzip, tar, xz, zip } from './archives.mjs';
import { releasesOf, writeChannels } from './channels.mjs';
import { writeSums } from './checksums.mjs';
import { archiveName, executable, extras, sourceTime, texts } from './contents.mjs';
import { deb, debName } from './deb.mjs';
import { npmPackage } from './npm-package.mjs';
import { releaseNotes } from './release-notes.mjs';
import { hasRpmbuild, rpm, rpmName } from './rpm.mjs';
import { sbom } from './sbom.mjs';

/** Archives, and packages for Linux, of one target. */
function packTarget(target, files, { write, fast }) {
  const folder = archiveName(target);
  const entries = files.map((file) => ({ ...file, name: `${folder}/${file.name}` }));
  if (target.startsWith('win-')) return write(`${folder}.zip`, zip(entries, sourceTime()));
  const bytes = tar(entries, sourceTime());
  write(`${folder}.tar.gz`, gzip(bytes));
  const smaller = fast ? undefined : xz(bytes);
  if (smaller !== undefined) write(`${folder}.tar.xz`, smaller);
  else if (!fast) log('skipped', `${folder}.tar.xz: the program xz is not installed`);
  if (!target.startsWith('linux-')) return;
  const installed = files.map((file) => (file.name === 'man/mcpx.1' ? packedMan(file) : file));
  write(debName(target), deb(target, installed));
  if (fast) return;
  if (hasRpmbuild()) write(rpmName(target), rpm(target, installed));
  else log('skipped', `${rpmName(target)}: the program rpmbuild is not installed (Debian: apt-get install rpm)`);
}

const packedMan = (file) => ({ ...file, system: `${file.system}.gz`, data: gzipSync(file.data, { level: 9 }) });

/** The installers, with the address of the releases. */
function writeInstallers(write, repository) {
  for (const name of ['install.sh', 'install.ps1']) {
    const text = readFileSync(at('packaging', name), 'utf8');
    if (text.split("'@RELEASES@'").length !== 2) throw new BuildError(`"${name}" has not one place for the address`);
    write(name, text.replace("'@RELEASES@'", `'${releasesOf(repository)}'`), 0o755);
  }
}

/** Artifacts of a workflow come without their modes. */
function copyProgram(from, to) {
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}

/** Packs the targets, and returns the folder. `build` is the folder for bundles. */
export async function packRelease({
  dist = at('dist'),
  build = at('build'),
  targets,
  repository,
  fast = false,
  draft = false,
}) {
  const folder = join(dist, 'release');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name, bytes, mode = 0o644) => {
    writeFileSync(join(folder, name), bytes, { mode });
    log('packed', `${name}, ${formatSize(bytes.length)}`);
  };
  const { metafile } = await bundle(build);
  const common = [...texts(dist), ...extras(join(dist, 'mcpx.cjs'))];
  for (const target of targets) {
    const name = executableName(target, { named: true });
    copyProgram(join(dist, name), join(folder, name));
    await logStep('target', () => {
      packTarget(target, [executable(dist, target), ...common], { write, fast });
      return target;
    });
  }
  copyProgram(join(dist, 'mcpx.cjs'), join(folder, 'mcpx.cjs'));
  copyFileSync(join(dist, 'THIRD_PARTY_NOTICES'), join(folder, 'THIRD_PARTY_NOTICES'));
  write(`mcpx-npm-${projectVersion()}.tgz`, await npmPackage(dist, build));
  const { file: nodeFile } = await pinnedNode(hostTarget());
  write('mcpx.cdx.json', sbom(metafile, { lock: nodeLock(), nodeFile, time: sourceTime() }));
  writeInstallers(write, repository);
  writeSums(folder);
  const channels = writeChannels(folder, { repository });
  const winget = channels.filter((name) => name.startsWith('winget/'));
  const entries = winget.map((name) => ({ name, data: readFileSync(join(folder, name)) }));
  if (entries.length > 0) write(`mcpx-winget-${projectVersion()}.zip`, zip(entries, sourceTime()));
  writeSums(folder);
  writeFileSync(join(dist, 'release-notes.md'), releaseNotes(projectVersion(), { draft }));
  return folder;
}

/** The targets whose executables are in `dist`. */
export const builtTargets = (dist = at('dist')) =>
  TARGETS.filter((target) => existsSync(join(dist, executableName(target, { named: true }))));

if (isMain(import.meta.url)) {
  await runMain(async (args) => {
    const { values } = parseArgs({
      args,
      options: {
        repository: { type: 'string', default: process.env.GITHUB_REPOSITORY },
        target: { type: 'string', multiple: true },
        fast: { type: 'boolean' },
        draft: { type: 'boolean' },
      },
    });
    const targets = values.target ?? builtTargets();
    if (targets.length === 0)
      throw new BuildError('dist has no executables', { hint: 'npm run build -- --target linux-x64' });
    log('release', await packRelease({ ...values, targets }));
  });
}
