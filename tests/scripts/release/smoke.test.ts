/** The smoke test itself: what it must not let through. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { expectedVersionLine, hostTarget } from '../../../scripts/project.mjs';
import { nodeLock } from '../../../scripts/release/node.mjs';
import { smoke } from '../../../scripts/release/smoke.mjs';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-smoke-'));
const target = hostTarget();
const line = expectedVersionLine(target, nodeLock().version);
const version = line.slice('mcpx/'.length).split(' ', 1)[0];

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that prints `versionLine` when asked, and else answers every request from `results` by its method. */
function program(name: string, versionLine: string, results: Record<string, unknown>): string {
  const file = join(folder, `${name}.cjs`);
  writeFileSync(
    file,
    `if (process.argv[2] === '--version') return console.log(${JSON.stringify(versionLine)});
     const results = ${JSON.stringify(results)};
     require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
       const { id, method } = JSON.parse(line);
       if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
     });`,
  );
  return file;
}

const good = {
  initialize: { serverInfo: { name: 'mcpx', version } },
  'tools/list': { tools: [{ name: 'inspect' }, { name: 'exec' }] },
};
// The stand-ins are scripts: node runs them, without the NODE_OPTIONS that an executable must withstand.
const runner = process.platform === 'win32' ? undefined : ['/usr/bin/env', '-u', 'NODE_OPTIONS', process.execPath];

describe.skipIf(runner === undefined)('the smoke test', () => {
  it('passes a program that gives the right answers', async () => {
    await smoke(program('good', line, good), target, runner);
  });

  it.each<[string, string, string, Record<string, unknown>, RegExp]>([
    ['another version', 'old', line.replace(/mcpx\/\S+/, 'mcpx/0.0.0'), good, /"--version" answered/],
    ['the version of plain Node', 'plain', process.version, good, /"--version" answered/],
    [
      'another server',
      'other',
      line,
      { ...good, initialize: { serverInfo: { name: 'x', version } } },
      /does not speak MCP/,
    ],
    ['no tools', 'bare', line, { ...good, 'tools/list': { tools: [] } }, /does not speak MCP/],
  ])('stops a program with %s', async (_name, name, versionLine, results, message) => {
    await expect(smoke(program(name, versionLine, results), target, runner)).rejects.toThrow(message);
  });

  it('stops a plain Node', async () => {
    await expect(smoke(process.execPath, target)).rejects.toThrow(/"--version" answered/);
  });
});
