/** Verifies the files of a release with the programs that people use on them. Each check says what it saw, or why it was not made. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { log } from '../log.mjs';
import { BuildError, executableName, hostTarget } from '../project.mjs';
import { signatureProblems } from '../release/macho.mjs';
import { runnerFor, smoke, whyNotRun } from '../release/smoke.mjs';
import { tarEntries } from '../release/tar.mjs';
import { verifySums } from './checksums.mjs';
import { verifyInChroots } from './chroots.mjs';
import { archiveName, EXTRAS } from './contents.mjs';
import { check, expectText, inTempFolder, run } from './programs.mjs';
import { verifyChannels } from './verify-channels.mjs';
import { verifyNpmPackage } from './verify-npm.mjs';
import { runUnderWine, wineProblem } from './wine.mjs';

/** The bare executable runs if this machine can run it; the signature of macOS and the resources of Windows are read otherwise. */
async function verifyExecutable(folder, target) {
  const name = executableName(target, { named: true });
  const file = join(folder, name);
  if (target.startsWith('darwin-')) {
    const [problem] = signatureProblems(readFileSync(file));
    if (problem !== undefined) throw new BuildError(`the signature of "${name}" is wrong: ${problem}`);
    log('verified', `${name}: structure and signature`);
  }
  if (target.startsWith('win-')) {
    const bytes = readFileSync(file);
    const version = Buffer.from('ProductVersion', 'utf16le');
    if (bytes.toString('latin1', 0, 2) !== 'MZ' || !bytes.includes(version))
      throw new BuildError(`"${name}" has no version resource`);
    log('verified', `${name}: PE with a version resource`);
    if (target === 'win-x64' && process.platform !== 'win32') return verifyUnderWine(file, name);
  }
  const runner = runnerFor(target);
  if (runner === undefined) return log('not run', `${name}: ${whyNotRun(target)}`);
  await smoke(file, target, runner);
  log('verified', `${name} answers --version, initialize and tools/list${runner.length > 0 ? ' in an emulator' : ''}`);
}

async function verifyUnderWine(file, name) {
  const problem = wineProblem();
  if (problem !== undefined) return log('not run', `${name}: ${problem}`);
  await runUnderWine(file);
  log('verified', `${name} answers --version, tools, stdio and HTTP under Wine`);
}

function verifyArchives(folder, target) {
  const inside = archiveName(target);
  if (target.startsWith('win-'))
    return check(`${inside}.zip`, 'unzip', ['-tq', `${inside}.zip`], 'No errors', { cwd: folder });
  const names = [...tarEntries(gunzipSync(readFileSync(join(folder, `${inside}.tar.gz`))))].map(({ name }) => name);
  for (const name of ['mcpx', 'LICENSE', 'THIRD_PARTY_NOTICES', 'README.md', ...EXTRAS]) {
    if (!names.includes(`${inside}/${name}`)) throw new BuildError(`"${inside}.tar.gz" has no ${name}`);
  }
  log('verified', `${inside}.tar.gz: ${names.length} files`);
  if (existsSync(join(folder, `${inside}.tar.xz`)))
    check(`${inside}.tar.xz`, 'xz', ['--test', `${inside}.tar.xz`], undefined, { cwd: folder });
}

/** Installs the archive of this machine into an empty home, calls a tool, and removes it. */
async function verifyInstaller(folder) {
  if (process.platform === 'win32') return log('skipped', 'install.sh: this is Windows');
  await inTempFolder((home) => {
    const options = { env: { PATH: process.env.PATH, HOME: home, TMPDIR: home } };
    const script = join(folder, 'install.sh');
    const executable = join(home, '.local', 'bin', 'mcpx');
    run('sh', [script, '--file', join(folder, `${archiveName(hostTarget())}.tar.gz`)], options);
    const said = run(executable, ['exec', '--demo', 'math.convert_base', 'number=255', 'to=16'], options);
    expectText('the installed executable', said, '"ff"');
    run('sh', [script, '--uninstall'], options);
    if (existsSync(executable)) throw new BuildError('install.sh --uninstall left the executable');
  });
  log('verified', 'install.sh --file into an empty home, a call, and --uninstall');
}

/** Verifies everything in a folder that `packRelease` has written. `schemas` is a folder with published JSON Schemas. */
export async function verifyRelease(folder, targets, { schemas } = {}) {
  log('verified', `SHA256SUMS: ${verifySums(folder).size} files`);
  for (const target of targets) {
    await verifyExecutable(folder, target);
    verifyArchives(folder, target);
  }
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.deb')) check(name, 'dpkg-deb', ['--info', join(folder, name)], 'Package: mcpx');
    if (name.endsWith('.rpm')) check(name, 'rpm', ['-qip', '--nosignature', join(folder, name)], 'Name        : mcpx');
  }
  await verifyChannels(folder, targets, schemas);
  check('install.sh', 'sh', ['-n', join(folder, 'install.sh')]);
  if (targets.includes(hostTarget())) {
    await verifyInstaller(folder);
    await verifyInChroots(folder);
  }
  await verifyNpmPackage(folder);
}
