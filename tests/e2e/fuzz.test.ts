/** Random and mutated requests at the executable: it still answers afterwards, and nothing failed that it cannot explain. Seeded. */
import { expect, test } from 'vitest';
import { bytes, randomOf, throwAt } from '../listen/fuzz.ts';
import { connect, rpc } from '../listen/harness.ts';
import { emptyPlace, start } from './program.ts';

const REQUESTS = 4000;
/** Requests at once. */
const WIDTH = 40;

test('the gateway survives whatever is thrown at it', { timeout: 120_000 }, async () => {
  const place = emptyPlace();
  const mcpServers = Object.fromEntries(['math', 'time', 'memory'].map((name) => [name, { type: 'builtin' }]));
  const tokens = [
    { name: 'fuzz', token: 's3cret', admin: true },
    { name: 'own', token: 'other' },
  ];
  const http = { auth: { tokens }, legacySse: true, maxBody: 100_000 };
  const file = place.file('mcp.json', { mcpServers, http, profiles: { default: {}, off: { enabled: false } } });
  const running = start(['serve', file, '--http', '--port', '0'], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  const headers = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const prey = await connect(`${url}/mcp`, { headers: headers('s3cret') });
  const own = await connect(`${url}/mcp`, { headers: headers('other') });
  const random = randomOf(23);
  const statuses = new Map<string, number>();
  const unexplained: string[] = [];
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) {
      const answer = await throwAt(Number(new URL(url).port), bytes(random, 's3cret', prey.id));
      const status = /HTTP\/1\.1 (?!100)(\d{3})/.exec(answer)?.[1] ?? 'none';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status.startsWith('5') && !/^50[234]$/.test(status)) unexplained.push(answer.slice(0, 500));
      if (/^50[234]$/.test(status) && !/"(?:message|hint)"/.test(answer)) unexplained.push(answer.slice(0, 500));
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));

  expect(unexplained).toEqual([]);
  expect(statuses.get('200')).toBeGreaterThan(100);
  expect(statuses.get('400')).toBeGreaterThan(100);
  const call = { server_name: 'math', tool_name: 'calculate', arguments: { expression: '6*7' } };
  const answer = await (await own.post(rpc('tools/call', { name: 'exec', arguments: call }, 'mine'))).text();
  expect(answer).toMatch(/"id":"mine"[\s\S]*42|42[\s\S]*"id":"mine"/);
  expect(running.said.stderr).not.toMatch(/^\S+Z mcpx error: (?!the config was not reloaded)/m);
  running.child.kill('SIGTERM');
  expect((await running.finished).code).toBe(0);
});
