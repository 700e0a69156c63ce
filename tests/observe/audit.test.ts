/** The audit log: what is written, what never is, and how large it grows. */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type AuditOptions, createAudit } from '../../src/observe/audit.ts';
import { createObserver } from '../../src/observe/observer.ts';

function audited(more: Partial<AuditOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'logs', 'audit.jsonl');
  const complaints: string[] = [];
  const audit = createAudit({ file, values: false, log: { error: (text) => complaints.push(text) }, ...more });
  const observer = createObserver();
  observer.subscribe(audit.hear);
  const read = () => {
    audit.close();
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line));
  };
  return { file, folder, audit, observer, complaints, read };
}

const CALL = { kind: 'tool', server: 's', name: 't', method: 'tools/call', request: 'r-1' } as const;

test('a call is one line: who, what, the decision, how long; never what went in or out', () => {
  const { observer, read, file } = audited();
  const calls = observer.calls({ profile: 'p', principal: 'ci' });
  calls.begin({ ...CALL, arguments: { password: 'hunter2' } })('ok', { result: 'hunter3' });
  calls.unreached({ ...CALL, name: 'gone' }, 'denied');
  calls.begin({ ...CALL, name: 'unlisted' })('refused', { reason: 'not_found', denied: true });
  expect(read()).toEqual([
    {
      ...{ time: expect.stringMatching(/^\d{4}-.*Z$/), type: 'call', request: 'r-1', profile: 'p', token: 'ci' },
      ...{ kind: 'tool', server: 's', name: 't', method: 'tools/call' },
      ...{ decision: 'allowed', outcome: 'ok', ms: expect.any(Number) },
    },
    expect.objectContaining({ name: 'gone', decision: 'denied' }),
    expect.objectContaining({ name: 'unlisted', decision: 'denied', outcome: 'denied' }),
  ]);
  expect(readFileSync(file, 'utf8')).not.toContain('hunter');
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('arguments and results are written where that was asked for, within a bound', () => {
  const { observer, read } = audited({ values: true });
  const calls = observer.calls({ profile: 'p' });
  calls.begin({ ...CALL, arguments: { a: 1 } })('ok', { result: { content: ['x'.repeat(100_000)] } });
  const [line] = read();
  expect(line.arguments).toEqual({ a: 1 });
  expect(line.result.length).toBeLessThan(70_000);
});

test('refused requests, changes and reloads are written, other requests are not', () => {
  const { observer, read } = audited();
  const exchange = {
    request: 'r',
    method: 'POST',
    path: '/mcp',
    route: '/mcp',
    ms: 1,
    from: '::1',
    received: 1,
    sent: 1,
  };
  for (const status of [200, 401, 403, 429, 404])
    observer.emit({ type: 'exchange', exchange: { ...exchange, status } });
  observer.emit({ type: 'exchange', exchange: { ...exchange, status: 404, hidden: true } });
  observer.emit({ type: 'reload', ok: true, message: 'words' });
  observer.emit({ type: 'admin', action: 'add', target: 'x', token: 'boss', ok: true, request: 'r' });
  const entries = read();
  expect(entries.map(({ type, status, decision }) => [type, status, decision])).toEqual([
    ['request', 401, 'denied'],
    ['request', 403, 'denied'],
    ['request', 429, 'denied'],
    ['request', 404, 'denied'],
    ['reload', undefined, undefined],
    ['admin', undefined, undefined],
  ]);
  expect(entries.at(-1)).toMatchObject({ action: 'add', target: 'x', token: 'boss' });
});

test('a full file is set aside, and only so many are kept', () => {
  const { observer, audit, folder, file } = audited({ maxBytes: 500, keep: 2 });
  const calls = observer.calls({ profile: 'p' });
  for (let index = 0; index < 20; index += 1) {
    calls.begin({ ...CALL, name: `t${index}` })('ok');
    audit.close();
  }
  const names = readdirSync(join(folder, 'logs'));
  expect(names.length).toBe(3);
  expect(names).toContain('audit.jsonl');
  expect(readFileSync(file, 'utf8')).toContain('"t19"');
});

test('a file that cannot be written is said at the start', () => {
  const { file } = audited();
  expect(() => createAudit({ file: join(file, 'x'), values: false, log: { error: () => undefined } })).toThrow(
    /the audit log ".*" cannot be written/,
  );
});

test('a folder that somebody removed is made again, and no line is lost', () => {
  const { observer, audit, complaints, folder, read } = audited();
  rmSync(join(folder, 'logs'), { recursive: true });
  observer.calls({ profile: 'p' }).begin(CALL)('ok');
  expect(read()).toHaveLength(1);
  expect(audit.problem()).toBeUndefined();
  expect(complaints).toEqual([]);
});

test('a file that can no longer be written is said once, and gets every line when it can be written again', () => {
  const { observer, audit, complaints, folder, file, read } = audited();
  rmSync(join(folder, 'logs'), { recursive: true });
  writeFileSync(join(folder, 'logs'), 'in the way');
  const calls = observer.calls({ profile: 'p' });
  for (const name of ['a', 'b', 'c']) {
    calls.begin({ ...CALL, name })('ok');
    audit.close();
  }
  expect(complaints).toEqual([expect.stringContaining(`the audit log "${file}" cannot be written: ENOTDIR`)]);
  expect(audit.problem()).toContain('cannot be written');
  rmSync(join(folder, 'logs'));
  expect(audit.problem()).toBeUndefined();
  expect(complaints.at(-1)).toContain('is written again');
  expect(read().map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test.runIf(existsSync('/dev/full'))('a full disk is said (needs /dev/full), and what waits for it is bounded', () => {
  const { observer, audit, complaints, file, read } = audited();
  rmSync(file);
  symlinkSync('/dev/full', file);
  const calls = observer.calls({ profile: 'p' });
  calls.begin({ ...CALL, name: 'first' })('ok');
  expect(audit.problem()).toBeUndefined();
  audit.close();
  expect(audit.problem()).toContain('ENOSPC');
  const name = 'x'.repeat(1000);
  for (let index = 0; index < 2000; index += 1) calls.begin({ ...CALL, name })('ok');
  rmSync(file);
  const lines = read();
  expect(complaints).toHaveLength(2);
  expect(lines[0]).toMatchObject({ name: 'first' });
  expect(lines.at(-1)).toEqual({ time: expect.any(String), type: 'lost', lines: 2001 - (lines.length - 1) });
});

test('secrets of the server are taken out of arguments and results', () => {
  const redact = (_: unknown, json: string) => json.replaceAll('hunter2', '***');
  const { observer, read } = audited({ values: true, redact });
  const result = { content: [{ type: 'text', text: 'I am hunter2' }] };
  observer.calls({ profile: 'p' }).begin({ ...CALL, arguments: { a: 1 } })('ok', { result });
  expect(read()).toMatchObject([{ arguments: { a: 1 }, result: { content: [{ text: 'I am ***' }] } }]);
});
