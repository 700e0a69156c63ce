/** Runs every command of the README in the order in which it stands, in an empty home with a release in a folder. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { tar } from '../../scripts/packages/archives.mjs';
import { writeSums } from '../../scripts/packages/checksums.mjs';
import { hostTarget, projectVersion } from '../../scripts/project.mjs';
import { readMarkdown } from '../setup/markdown.ts';
import { EXECUTABLE, emptyPlace, type Place, WINDOWS } from './program.ts';
import { HAS_TERMINAL, onTerminal } from './pseudo-terminal.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Commands that run this checkout's own tests and builds. The test that runs each of them instead. */
const ELSEWHERE: Record<string, string> = {
  'npm start': 'tests/scripts/start.test.ts',
  'npm test': 'tests/scripts/test.test.ts',
  'npm run build': 'tests/scripts/release/build.test.ts',
};

interface Step {
  line: string;
  /** The output that a `console` block shows under the line. */
  shown?: string;
  /** Set for the config that the reader writes at this place. */
  config?: string;
}

/** The steps of a README: command lines without comments, and the config. PowerShell is for another system. */
function stepsOf(file: string): Step[] {
  const { blocks } = readMarkdown(readFileSync(join(ROOT, file), 'utf8'));
  return blocks.flatMap(({ language, text }): Step[] => {
    if (language === 'jsonc') return [{ line: '# the config', config: text }];
    if (language === 'sh') return text.split('\n').map((line) => ({ line: line.replace(/\s+#.*$/, '') }));
    if (language !== 'console') return [];
    return text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => ({ line: part.split('\n')[0] ?? '', shown: part.split('\n').slice(1).join('\n').trim() }));
  });
}

/** A folder with the installer, a release of the built executable, and packages that npx finds without a registry. */
function download(): { place: Place; release: string } {
  const place = emptyPlace();
  const release = join(place.cwd, 'release');
  mkdirSync(release);
  const name = `mcpx-${projectVersion()}-${hostTarget()}`;
  const entries = [{ name: `${name}/mcpx`, data: readFileSync(EXECUTABLE), mode: 0o755 }];
  writeFileSync(join(release, `${name}.tar.gz`), gzipSync(tar(entries, 0), { level: 1 }));
  writeSums(release);
  writeFileSync(join(place.cwd, 'install.sh'), readFileSync(join(ROOT, 'packaging/install.sh')));
  symlinkSync(join(ROOT, 'node_modules'), join(place.cwd, 'node_modules'));
  return { place, release };
}

/** Runs a line in a shell. A line with `mcpx demo` runs until it says that it runs, and gets Ctrl-C. */
function type(line: string, place: Pick<Place, 'cwd' | 'env'>): Promise<{ code: number | null; said: string }> {
  const isDemo = line.startsWith('mcpx demo');
  const child = spawn('sh', ['-c', isDemo ? `exec ${line} --port 0` : line], {
    ...place,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const hear = (text: Buffer) => {
    said += text;
    if (isDemo && said.includes('Running.')) child.kill('SIGINT');
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  return new Promise((done) => child.once('close', (code) => done({ code, said })));
}

/** Runs a line on a terminal and answers its question with yes. Without a terminal here, `--yes` answers it. */
async function confirm(
  line: string,
  place: Pick<Place, 'cwd' | 'env'>,
): Promise<{ code: number | null; said: string }> {
  if (!HAS_TERMINAL) return type(`${line} --yes`, place);
  const terminal = onTerminal(['sh', '-c', line], place);
  await terminal.until(/\[y\/N\]/);
  terminal.type('y\n');
  const { code, shown } = await terminal.finished;
  return { code, said: shown };
}

/** The config of a client that the reader has, with one server. */
const CLIENT = {
  mcpServers: { everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] } },
};

describe.skipIf(WINDOWS)('README.md (needs a POSIX shell)', () => {
  test('every command works in the order in which it stands', { timeout: 180_000 }, async () => {
    const { place, release } = download();
    let PATH = place.env.PATH ?? '';
    const env = () => ({ ...place.env, PATH, MCPX_DOWNLOAD_URL: `file://${release}`, npm_config_offline: 'true' });
    const home = place.env.HOME ?? '';
    const clientFile = join(home, '.claude.json');
    writeFileSync(clientFile, JSON.stringify(CLIENT));
    const ran: string[] = [];
    for (const { line, shown, config } of stepsOf('README.md')) {
      if (config !== undefined) {
        mkdirSync(join(home, '.mcpx'), { recursive: true });
        writeFileSync(join(home, '.mcpx', 'config.json'), config);
        continue;
      }
      if (line in ELSEWHERE) {
        expect(existsSync(join(ROOT, ELSEWHERE[line] ?? '')), line).toBe(true);
        continue;
      }
      if (line.startsWith('export PATH=')) {
        PATH = execFileSync('sh', ['-c', `${line}; printf %s "$PATH"`], { env: env(), encoding: 'utf8' });
        continue;
      }
      const start = line === 'mcpx init' ? confirm : type;
      const { code, said } = await start(line, { cwd: place.cwd, env: env() });
      // Ctrl-C ends the demo, and the shell sees 128 + SIGINT.
      expect(code, `${line}\n${said}`).toBe(line.startsWith('mcpx demo') ? 130 : 0);
      const lines = (shown ?? '').split('\n').filter((text) => text !== '' && text !== '…');
      expect(said.split('\n'), line).toEqual(expect.arrayContaining(lines));
      ran.push(line.split(' ').slice(0, 2).join(' '));
    }
    expect(ran).toEqual(
      expect.arrayContaining(['sh install.sh', 'mcpx --version', 'mcpx demo', 'mcpx tools', 'mcpx init', 'mcpx exec']),
    );
    const executable = join(home, '.local', 'bin', 'mcpx');
    expect(existsSync(executable)).toBe(true);
    // The client has mcpx instead of its server, and mcpx has the server.
    const { mcpServers } = JSON.parse(readFileSync(clientFile, 'utf8'));
    expect(mcpServers).toEqual({ mcpx: expect.objectContaining({ command: executable, args: ['serve'] }) });
    expect(readFileSync(join(home, '.mcpx', 'config.json'), 'utf8')).toContain('"everything"');
  });
});

test('the Chinese README has the same commands in the same order', () => {
  expect(stepsOf('README.zh-CN.md')).toEqual(stepsOf('README.md'));
});
