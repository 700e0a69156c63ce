/** Results made to be costly, and clients that do not read: the executable stays within its memory and ends when it should. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EXECUTABLE, emptyPlace, fixture, INITIALIZE, rpc } from './program.ts';

type Kind = 'compact' | 'aggregate';

/** A client on stdio that takes lines as bytes: a parse of these answers would cost the test more than mcpx. */
async function open(kind: Kind) {
  const place = emptyPlace();
  const taken = place.file('taken', '');
  const config = place.file('mcp.json', {
    mcpServers: { s: { command: process.execPath, args: [fixture('shapes.mjs'), taken] } },
    front: { kind },
  });
  const child = spawn(EXECUTABLE, ['serve', config], { ...place, stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdin.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const waiting: ((line: string) => void)[] = [];
  let pieces: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    pieces.push(chunk);
    if (chunk.at(-1) !== 10) return;
    const lines = Buffer.concat(pieces).toString().trimEnd().split('\n');
    pieces = [];
    for (const line of lines) if (/"id":\d+/.test(line)) waiting.shift()?.(line);
  });
  const request = (id: number, method: string, params?: unknown) => {
    child.stdin.write(rpc(id, method, params));
    return new Promise<string>((resolve) => waiting.push(resolve));
  };
  const shape = (id: number, args: unknown) =>
    request(id, 'tools/call', {
      ...(kind === 'aggregate'
        ? { name: 's__shape', arguments: args }
        : { name: 'exec', arguments: { server_name: 's', tool_name: 'shape', arguments: args } }),
    });
  await request(1, 'initialize', INITIALIZE);
  await request(2, 'tools/list');
  // The server runs, and what a call needs once is loaded.
  await shape(3, { kind: 'nothing', place: 'text' });
  /** How many answers to calls mcpx has taken from its server. */
  const answers = () => readFileSync(taken, 'utf8').split('\n').length - 1;
  return { child, exited, shape, answers, pid: child.pid ?? 0 };
}

/** MB, of the field of this name. */
const memory = (pid: number, field: 'VmHWM' | 'VmRSS') =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** The answer to a call, and the MB that mcpx needs for it at its peak. */
async function measured(kind: Kind, args: unknown): Promise<{ line: string; cost: number }> {
  const { pid, shape } = await open(kind);
  const before = memory(pid, 'VmRSS');
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const line = await shape(4, args);
  return { line, cost: memory(pid, 'VmHWM') - before };
}

const KINDS = ['many keys', 'objects with other keys each', 'empty objects', 'numbers', 'rows', 'a million levels'];

describe.skipIf(process.platform !== 'linux')('one result of 12 MB, on Linux', () => {
  test.each(KINDS.flatMap((kind) => [[kind, 'structured'] as const, [kind, 'text'] as const]))(
    'of %s, %s, costs less than 200 MB in the compact front',
    async (kind, place) => {
      const { line, cost } = await measured('compact', { kind, place });
      expect(line).toContain('the whole is kept for 30 minutes');
      expect(line.length).toBeLessThan(20_000);
      expect(cost).toBeLessThan(200);
    },
  );

  test.each(KINDS.flatMap((kind) => [[kind, 'structured'] as const, [kind, 'meta'] as const]))(
    'of %s, %s, costs less than 200 MB in the aggregate front',
    async (kind, place) => {
      const { line, cost } = await measured('aggregate', { kind, place });
      if (kind === 'a million levels') expect(line).toContain('is nested too deeply');
      else expect(line.length).toBeGreaterThan(12_000_000);
      expect(cost).toBeLessThan(200);
    },
  );

  test('of empty texts costs less than 200 MB', async () => {
    const { line, cost } = await measured('aggregate', { kind: 'empty texts', place: 'meta' });
    expect(line).toContain('"id":4');
    expect(cost).toBeLessThan(200);
  });

  test.each(['compact', 'aggregate'] as const)('of links costs less than 200 MB in the %s front', async (kind) => {
    const { line, cost } = await measured(kind, { kind: 'links', place: 'blocks' });
    expect(line).toContain(kind === 'compact' ? 'the whole is kept for 30 minutes' : '"uri":"file:///a"');
    expect(line.length).toBeLessThan(kind === 'compact' ? 20_000 : 13_000_000);
    expect(cost).toBeLessThan(200);
  });
});

describe('a client on stdio that does not read', () => {
  test('and closes the input ends mcpx, whatever waits for it', async () => {
    const { child, exited, shape, answers } = await open('aggregate');
    child.stdout.pause();
    for (let id = 10; id < 14; id++) void shape(id, { kind: 'rows', place: 'structured' });
    // The first one is the call of `open`.
    await expect.poll(answers, { timeout: 100_000 }).toBe(5);
    child.stdin.end();
    expect(await exited).toBe(0);
  }, 120_000);
});
