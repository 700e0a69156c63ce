/** The files that every package contains next to the executable: licence, notices, README, and where they are in a system. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { at, BuildError, executableName, projectVersion } from '../project.mjs';

/** The maintainer field that Debian packages need. */
export const MAINTAINER = 'mcpx maintainers <maintainers@users.noreply.github.com>';
export const SUMMARY = 'Every MCP server you own behind two tools: inspect and exec';

/** Seconds since 1970 that all archives carry: of the commit, so that two builds of one commit are the same. */
export function sourceTime() {
  const given = Number(process.env.SOURCE_DATE_EPOCH);
  if (Number.isSafeInteger(given) && given > 0) return given;
  const { stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: at(), encoding: 'utf8' });
  return Number(stdout) || 1_577_836_800;
}

/** Files that the program prints itself, and where they are in a system. */
const PRINTED = [
  { name: 'completions/mcpx.bash', system: 'usr/share/bash-completion/completions/mcpx', args: ['completion', 'bash'] },
  { name: 'completions/_mcpx', system: 'usr/share/zsh/vendor-completions/_mcpx', args: ['completion', 'zsh'] },
  {
    name: 'completions/mcpx.fish',
    system: 'usr/share/fish/vendor_completions.d/mcpx.fish',
    args: ['completion', 'fish'],
  },
  { name: 'man/mcpx.1', system: 'usr/share/man/man1/mcpx.1', args: ['man'] },
];

/** The names of these files, which every archive has. */
export const EXTRAS = PRINTED.map(({ name }) => name);

/** Shell completions and the man page; `script` is mcpx.cjs. */
export function extras(script) {
  return PRINTED.map(({ args, ...file }) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'buffer' });
    if (status !== 0) throw new BuildError(`"${script} ${args.join(' ')}" failed: ${stderr}`);
    return { ...file, data: stdout };
  });
}

/** Documents in the layout of the checkout, so that their links lead to one another without a network. */
const DOCUMENTS = ['README.md', 'README.zh-CN.md', 'CHANGELOG.md', 'SECURITY.md', 'docs', 'examples', 'packaging'];
const NOT_DOCUMENTS = /^packaging\/(?:install\.|sign-|entitlements|npm\/)/;

/** Every file of a folder, or the file itself, by its path with forward slashes. */
function filesUnder(path) {
  if (!statSync(at(path)).isDirectory()) return [path];
  const names = readdirSync(at(path)).sort();
  return names.flatMap((name) => filesUnder(`${path}/${name}`));
}

/** The texts of every package. `dist` is the folder of the built executables. */
export function texts(dist) {
  const text = (name, file, system = `usr/share/doc/mcpx/${name}`) => ({ name, system, data: readFileSync(file) });
  const documents = DOCUMENTS.flatMap(filesUnder).filter((path) => !NOT_DOCUMENTS.test(path));
  return [
    text('LICENSE', at('LICENSE'), 'usr/share/doc/mcpx/copyright'),
    text('THIRD_PARTY_NOTICES', join(dist, 'THIRD_PARTY_NOTICES')),
    ...documents.map((path) => text(path, at(path))),
  ];
}

/** The executable of a target as an entry of an archive. */
export function executable(dist, target) {
  const data = readFileSync(join(dist, executableName(target, { named: true })));
  return { name: target.startsWith('win-') ? 'mcpx.exe' : 'mcpx', system: 'usr/bin/mcpx', data, mode: 0o755 };
}

/** The name of an archive without its ending, which is also the folder inside. */
export const archiveName = (target) => `mcpx-${projectVersion()}-${target}`;
