/** Commands that install the programs that MCP servers are started with. */
import type { Environment } from '../../config/environment.ts';
import { findInPath } from './program-search.ts';

/** How to install a package: its name in Homebrew, winget and the package managers of Linux. */
interface Package {
  brew: string;
  winget: string;
  linux: Partial<Record<Manager, string>>;
  /** The command for a Linux whose package manager does not have it. */
  script?: string;
}

type Manager = 'apt-get' | 'dnf' | 'pacman' | 'apk' | 'zypper';

const MANAGERS: Record<Manager, string> = {
  'apt-get': 'sudo apt-get install -y',
  dnf: 'sudo dnf install -y',
  pacman: 'sudo pacman -S --noconfirm',
  apk: 'sudo apk add',
  zypper: 'sudo zypper install -y',
};

const everywhere = (name: string) => ({ 'apt-get': name, dnf: name, pacman: name, apk: name, zypper: name });

const NODE: Package = { brew: 'node', winget: 'OpenJS.NodeJS.LTS', linux: everywhere('nodejs npm') };
const UV: Package = {
  brew: 'uv',
  winget: 'astral-sh.uv',
  linux: { pacman: 'uv', apk: 'uv', dnf: 'uv' },
  script: 'curl -LsSf https://astral.sh/uv/install.sh | sh',
};
const DOCKER: Package = {
  brew: '--cask docker',
  winget: 'Docker.DockerDesktop',
  linux: { 'apt-get': 'docker.io', dnf: 'docker', pacman: 'docker', apk: 'docker', zypper: 'docker' },
};
const PYTHON: Package = { brew: 'python', winget: 'Python.Python.3.13', linux: everywhere('python3') };
const BUN: Package = {
  brew: 'oven-sh/bun/bun',
  winget: 'Oven-sh.Bun',
  linux: {},
  script: 'curl -fsSL https://bun.sh/install | bash',
};
const DENO: Package = {
  brew: 'deno',
  winget: 'DenoLand.Deno',
  linux: { pacman: 'deno', apk: 'deno' },
  script: 'curl -fsSL https://deno.land/install.sh | sh',
};
const GO: Package = {
  brew: 'go',
  winget: 'GoLang.Go',
  linux: { ...everywhere('go'), 'apt-get': 'golang-go', dnf: 'golang' },
};
const PODMAN: Package = { brew: 'podman', winget: 'RedHat.Podman', linux: everywhere('podman') };

/** The programs that start servers, with the package that has them. */
const PROGRAMS = new Map<string, Package>(
  Object.entries({
    ...{ node: NODE, npx: NODE, npm: NODE, uv: UV, uvx: UV, docker: DOCKER, podman: PODMAN },
    ...{ python: PYTHON, python3: PYTHON, bun: BUN, bunx: BUN, deno: DENO, go: GO },
  }),
);

/** True for a program whose `--version` can be asked without starting a server. */
export function isKnownProgram(name: string): boolean {
  return PROGRAMS.has(name);
}

/** Returns the command that installs a program on this system; undefined for an unknown program. */
export function installCommand(
  name: string,
  world: Pick<Environment, 'env' | 'home' | 'platform'>,
): string | undefined {
  const found = PROGRAMS.get(name);
  if (found === undefined) return undefined;
  if (world.platform === 'win32') return `winget install ${found.winget}`;
  if (world.platform === 'darwin') return `brew install ${found.brew}`;
  const folders = '/usr/local/bin:/usr/bin:/bin:/sbin:/usr/sbin';
  for (const [manager, command] of Object.entries(MANAGERS) as [Manager, string][]) {
    const name = found.linux[manager];
    if (name !== undefined && findInPath(manager, folders, world) !== undefined) return `${command} ${name}`;
  }
  return found.script ?? `brew install ${found.brew}`;
}
