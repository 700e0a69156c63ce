import { expect, test } from 'vitest';
import { call, connection, fixture, stdioSpec } from './world.ts';

test.each([
  ['is answered in kind once it has answered so', [], 'newline'],
  ['is spoken to so from the first message where the config says so', ['strict'], 'content-length'],
] as const)('an upstream that speaks in Content-Length frames %s', async (_, flags, framing) => {
  const upstream = connection(stdioSpec(process.execPath, [fixture('framed.mjs'), ...flags], { framing }));
  expect((await upstream.connect()).serverInfo.name).toBe('framed');
  for (const text of ['中文', '🙂', '']) expect(await call(upstream, 'echo', { text })).toEqual({ text });
  expect(upstream.diagnostics().noise).toBe(0);
});
