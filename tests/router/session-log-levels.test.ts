/** The log levels of sessions, and what the servers are told of them. */
import { expect, test } from 'vitest';
import { isLogLevel } from '../../src/mcp/log-levels.ts';
import { SILENT } from '../../src/observe/log.ts';
import { createSessionLogLevels } from '../../src/router/session-log-levels.ts';
import type { Connection } from '../../src/upstream/connection-interface.ts';
import { stageConnections } from './staged-connections.ts';

function world(...staged: Parameters<typeof stageConnections>) {
  const { pool, connections, ...rest } = stageConnections(...staged);
  return { ...rest, levels: createSessionLogLevels({ pool, log: SILENT }), first: connections[0] as Connection };
}

test('the least severe level counts at a server, and filters per session', () => {
  const { levels, told } = world({ a: 'ready', b: 'idle', rude: 'ready' });
  levels.set('error', 'one');
  levels.set('debug', 'two');
  expect(told).toEqual([
    ['a', 'logging/setLevel', { level: 'error' }],
    ['rude', 'logging/setLevel', { level: 'error' }],
    ['a', 'logging/setLevel', { level: 'debug' }],
    ['rude', 'logging/setLevel', { level: 'debug' }],
  ]);
  expect([levels.hears('info', 'one'), levels.hears('error', 'one'), levels.hears('info', 'two')]).toEqual([
    false,
    true,
    true,
  ]);
  const heardBy = (holder: string) => ['debug', 'warn', undefined].filter((level) => levels.hears(level, holder));
  expect(heardBy('never set one')).toEqual(['debug', 'warn', undefined]);
  expect([heardBy('one'), heardBy('two')]).toEqual([[], ['debug', 'warn', undefined]]);
  expect([isLogLevel('notice'), isLogLevel('loud'), isLogLevel(3)]).toEqual([true, false, false]);
});

test('the level of one session takes nothing from another that shares a server with it', () => {
  const { levels, told } = world({ a: 'ready', 'a of two': 'ready' });
  const sent = () => told.splice(0).map((one) => Object.values(one as unknown[]).at(-1));
  levels.join('one');
  expect(sent()).toEqual([]);
  levels.set('emergency', 'two');
  expect(sent()).toEqual([{ level: 'debug' }, { level: 'emergency' }]);
  levels.set('error', 'one');
  expect(sent()).toEqual([{ level: 'error' }]);
  levels.leave('one');
  expect(sent()).toEqual([{ level: 'emergency' }]);
  levels.join('three');
  expect(sent()).toEqual([{ level: 'debug' }]);
  levels.leave('three');
  expect(sent()).toEqual([{ level: 'emergency' }]);
  // No session is left, so the level stays until the next one.
  levels.leave('two');
  expect(sent()).toEqual([]);
  levels.join('four');
  expect(sent()).toEqual([{ level: 'debug' }]);
});

test('a server that was told no level, or has begun anew, logs by its own default', () => {
  const { levels, told, first } = world({ a: 'ready' });
  levels.join('one');
  levels.set('error', 'two');
  levels.leave('two');
  told.length = 0;
  levels.connected(first);
  levels.leave('one');
  levels.join('three');
  expect(told).toEqual([]);
});

test('a new connection is told the level of the sessions', () => {
  const { levels, told, first } = world({ a: 'ready' });
  levels.connected(first);
  expect(told).toEqual([]);
  levels.set('warning', 'one');
  told.length = 0;
  levels.connected(first);
  expect(told).toEqual([['a', 'logging/setLevel', { level: 'warning' }]]);
});

test('every connection of a server is told, and those of one session the level of that session', () => {
  const { levels, told, first } = world({ 'a of one': 'ready', 'a of two': 'ready', a: 'ready' });
  levels.set('error', 'one');
  expect(told).toEqual([
    ['a of one', 'logging/setLevel', { level: 'error' }],
    ['a', 'logging/setLevel', { level: 'error' }],
  ]);
  told.length = 0;
  levels.set('debug', 'two');
  levels.connected(first);
  expect(told).toEqual([
    ['a of two', 'logging/setLevel', { level: 'debug' }],
    ['a', 'logging/setLevel', { level: 'debug' }],
    ['a of one', 'logging/setLevel', { level: 'error' }],
  ]);
});

test('a server without logging is not told a level', () => {
  const { levels, told } = world({ a: 'ready' }, {});
  levels.set('debug', 'one');
  expect(told).toEqual([]);
});
