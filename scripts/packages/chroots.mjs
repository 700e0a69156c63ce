/** Tries a release in small systems of Debian: the bare executable starts, and the `.deb` can be installed and removed. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { log, logStep } from '../log.mjs';
import { at, BuildError, executableName, hostTarget, projectVersion } from '../project.mjs';
import { smoke } from '../release/smoke.mjs';
import { debName } from './deb.mjs';
import { expectText, inTempFolder, run } from './programs.mjs';

const SUITES = ['stable', 'oldstable'];
const CHROOT = '/usr/sbin/chroot';

/** Returns the reason why no system can be made here; undefined if it can. */
function chrootProblem() {
  if (hostTarget() !== 'linux-x64') return 'it is made on linux-x64 only';
  if (process.getuid() !== 0) return 'it needs root';
  const { error } = spawnSync('debootstrap', ['--version']);
  return error === undefined ? undefined : 'debootstrap is not installed';
}

/** Returns the folder of a minimal Debian, made once; undefined if debootstrap cannot make it. */
async function debian(suite) {
  const folder = at('.cache', 'chroots', suite);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  let failure;
  await logStep('debian', () => {
    const { status, stdout, stderr } = spawnSync('debootstrap', ['--variant=minbase', suite, draft], {
      encoding: 'utf8',
    });
    failure = status === 0 ? undefined : (stderr + stdout).trim().split('\n').at(-1);
    return failure === undefined ? suite : undefined;
  });
  if (failure !== undefined) return log('not run', `Debian ${suite}: debootstrap failed: ${failure}`);
  renameSync(draft, folder);
  return folder;
}

/** Runs a program in the system, without anything from this environment. */
const inside = (root, ...args) =>
  run(CHROOT, [root, ...args], { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', LANG: 'C.UTF-8' } });

async function tryExecutable(root, folder) {
  const name = executableName(hostTarget(), { named: true });
  mkdirSync(join(root, 'opt', 'try'));
  copyFileSync(join(folder, name), join(root, 'opt', 'try', 'mcpx'));
  await smoke('/opt/try/mcpx', hostTarget(), [CHROOT, root]);
}

function tryDeb(root, folder) {
  const name = debName(hostTarget());
  copyFileSync(join(folder, name), join(root, 'opt', 'try', name));
  inside(root, 'dpkg', '--install', `/opt/try/${name}`);
  expectText(name, inside(root, 'mcpx', '--version'), `mcpx/${projectVersion()} `);
  expectText(name, inside(root, 'mcpx', 'exec', '--demo', 'math.convert_base', 'number=255', 'to=16'), '"ff"');
  inside(root, 'dpkg', '--verify', 'mcpx');
  inside(root, 'dpkg', '--purge', 'mcpx');
  const left = ['usr/bin/mcpx', 'usr/share/doc/mcpx'].filter((file) => existsSync(join(root, file)));
  if (left.length > 0) throw new BuildError(`dpkg --purge mcpx leaves ${left.join(' and ')}`);
}

/** Tries the files of this machine's target in each Debian. */
export async function verifyInChroots(folder) {
  const problem = chrootProblem();
  if (problem !== undefined) return log('not run', `Debian in a chroot: ${problem}`);
  for (const suite of SUITES) {
    const system = await debian(suite);
    if (system === undefined) continue;
    await inTempFolder(async (work) => {
      const root = join(work, suite);
      run('cp', ['--archive', system, root]);
      await tryExecutable(root, folder);
      const hasDeb = readdirSync(folder).includes(debName(hostTarget()));
      if (hasDeb) tryDeb(root, folder);
      const version = run('cat', [join(root, 'etc/debian_version')]).trim();
      log('verified', `Debian ${version}: the executable starts${hasDeb ? ', the .deb is installed and removed' : ''}`);
    });
  }
}
