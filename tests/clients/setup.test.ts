/** Real clients: their own commands write servers, `mcpx init` takes them over, the clients reach mcpx, and undo restores their files. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXECUTABLE, serverScript } from '../e2e/program.ts';
import { cline, copilotCli } from './chat-programs.ts';
import { type Home, runToEnd } from './conversation.ts';
import { type Client, claudeCode, codex, geminiCli, openCode, pinnedNodeFile } from './programs.ts';

/** An address that refuses every connection. */
const NOWHERE = 'http://127.0.0.1:9';
const SERVER = [pinnedNodeFile, serverScript('server-memory')];

interface Program {
  client: Client;
  id: string;
  /** The file that the client's own command writes, below the home. */
  file: string;
  /** The words of that command. */
  add: string[];
  /** The words that list its servers; undefined if the client has no such command. */
  list?: string[];
  /** The text by which the list shows that the client has reached mcpx, or knows it. */
  shows?: RegExp;
}

const add = (...options: string[]) => ['mcp', 'add', ...options, 'memory'];
const list = ['mcp', 'list'];

const PROGRAMS: Program[] = [
  {
    client: claudeCode,
    id: 'claude-code',
    file: '.claude.json',
    add: [...add('--scope', 'user'), '--', ...SERVER],
    list,
    shows: /mcpx: .* serve - ✔ Connected/,
  },
  {
    client: codex,
    id: 'codex',
    file: '.codex/config.toml',
    add: [...add(), '--env', 'LEVEL=debug', '--', ...SERVER],
    list,
    shows: /mcpx .* serve .* enabled/,
  },
  {
    client: geminiCli,
    id: 'gemini-cli',
    file: '.gemini/settings.json',
    add: [...add('--scope', 'user'), ...SERVER],
    list,
    shows: /mcpx: .* serve \(stdio\) - Connected/,
  },
  {
    client: openCode,
    id: 'opencode',
    file: '.config/opencode/opencode.json',
    add: [...add(), '--', ...SERVER],
    list,
    shows: /✓ mcpx/,
  },
  {
    client: copilotCli,
    id: 'copilot-cli',
    file: '.copilot/mcp-config.json',
    add: [...add(), '--', ...SERVER],
    list,
    shows: /mcpx \(local\)/,
  },
  {
    client: cline,
    id: 'cline-cli',
    file: '.cline/data/settings/cline_mcp_settings.json',
    add: ['mcp', 'install', '--yes', 'memory', '--', ...SERVER],
  },
];

function emptyHome(): Home {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'way-in-')));
  const [home, cwd] = [join(root, 'home'), join(root, 'work')];
  for (const folder of [home, cwd]) mkdirSync(folder);
  const proxy = { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: '127.0.0.1,localhost' };
  const env = { HOME: home, USERPROFILE: home, PATH: process.env.PATH ?? '', NO_COLOR: '1', ...proxy };
  return { home, cwd, env, remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }) };
}

for (const { client, id, file, add: words, list: listing, shows } of PROGRAMS) {
  describe.skipIf(client.command === undefined)(`${client.title}, where it is installed,`, () => {
    let place: Home;
    const run = (...args: string[]) => runToEnd([...(client.command ?? []), ...args], place);
    const mcpx = (...args: string[]) => runToEnd([EXECUTABLE, ...args], place);
    const digest = () =>
      createHash('sha256')
        .update(readFileSync(join(place.home, file)))
        .digest('hex');

    beforeAll(async () => {
      place = emptyHome();
      Object.assign(place.env, client.prepare(place.home, NOWHERE));
      await run(...words);
    });
    afterAll(() => place?.remove());

    test('loses its server to mcpx, and undo restores its file byte for byte', async () => {
      const before = digest();
      expect(await mcpx('setup')).toMatch(new RegExp(`${id} +not connected +1 other server`));
      expect(await mcpx('init', '--yes')).toMatch(/taken out: memory[\s\S]*tokens that a model reads/);
      expect(await mcpx('setup')).toMatch(new RegExp(`${id} +connected +no other servers`));
      expect(await mcpx('tools', 'memory')).toContain('memory.read_graph');
      await mcpx('setup', '--all', '--undo');
      expect(digest()).toBe(before);
    });

    if (listing === undefined) return;
    test('shows mcpx instead of its server, and its server again after undo', async () => {
      await mcpx('init', '--yes');
      const connected = await run(...listing);
      expect(connected).toMatch(shows ?? /mcpx/);
      expect(connected).not.toContain('server-memory');
      await mcpx('setup', '--all', '--undo');
      const undone = await run(...listing);
      expect(undone).toContain('memory');
      expect(undone).not.toContain(EXECUTABLE);
    });
  });
}
