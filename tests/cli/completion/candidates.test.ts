/** Candidates of a command line from the table of commands, with values that stand for the config and the catalogs. */
import { describe, expect, test } from 'vitest';
import { type Candidate, candidatesFor, type Values } from '../../../src/cli/completion/candidates.ts';

const words = (...values: string[]): Candidate[] => values.map((value) => ({ value }));

const VALUES: Values = {
  servers: (flags) => (flags.has('demo') ? words('math', 'time') : words('files', 'git-hub')),
  profiles: () => words('default', 'readonly'),
  tools: () => words('files.read', 'files.write'),
  prompts: () => words('files.summary'),
  uris: () => words('file:///a', 'file:///b'),
  parameters: (kind, target, given) => words(`${kind}:${target}:${given.join('|')}`),
  clients: () => words('cursor', 'codex'),
  files: (prefix) => words(`${prefix}x.json`),
};

const CASES: [typed: string[], values: string[]][] = [
  [['too'], ['tools']],
  [
    ['config', 's'],
    ['show', 'set', 'schema'],
  ],
  [['con'], ['config']],
  [['help', 'exit'], ['exit-codes']],
  [['help', 'config', 'va'], ['validate']],
  [['tools', 'f'], ['files']],
  [
    ['tools', '--demo', ''],
    ['math', 'time'],
  ],
  [
    ['--demo', 'tools', ''],
    ['math', 'time'],
  ],
  [['exec', 'files.r'], ['files.read']],
  [['exec', '--demo', 'math.x', 'a=1', 'b'], []],
  [['exec', 'files.read', 'tool'], ['tool:files.read:tool']],
  [['exec', 'files.read', 'a=1', 'tool'], ['tool:files.read:a=1|tool']],
  [['prompt', 'files.summary', 'prompt'], ['prompt:files.summary:prompt']],
  [
    ['read', 'file'],
    ['file:///a', 'file:///b'],
  ],
  [
    ['setup', 'c'],
    ['cursor', 'codex'],
  ],
  [
    ['setup', '--scope', ''],
    ['user', 'project'],
  ],
  [
    ['login', '--scope', ''],
    ['user', 'project'],
  ],
  [['serve', '--front', 'a'], ['aggregate']],
  [['serve', '--front=a'], ['--front=aggregate']],
  [['serve', '--profile', 'r'], ['readonly']],
  [['-c', 'conf'], ['confx.json']],
  [['-c', 'a.json', 'too'], ['tools']],
  [
    ['exec', '--args', ''],
    ['@', '-'],
  ],
  [['exec', '--args', '@con'], ['@conx.json']],
  [['exec', '--sel'], ['--select']],
  [['exec', '--json', '--js'], []],
  [['exec', '-c', 'a.json', '--conf'], ['--config']],
  [['exec', '--', '--j'], []],
  [['nonsense', ''], []],
  [['completion', 'f'], ['fish']],
  [['remove', 'g'], ['git-hub']],
  [['export', 'files', 'g'], ['git-hub']],
  [['add', 'new'], []],
  [['add', './'], ['./x.json']],
  [
    ['add', 'new', '--type', 's'],
    ['stdio', 'sse'],
  ],
];

describe('the words at the cursor', () => {
  test.each(CASES)('%j', (typed, values) => {
    expect(candidatesFor(typed, VALUES).map(({ value }) => value)).toEqual(values);
  });

  test('a command has its summary, and a word of several commands is offered once', () => {
    const all = candidatesFor([''], VALUES);
    expect(all.filter(({ value }) => value === 'config')).toEqual([{ value: 'config' }]);
    expect(all.find(({ value }) => value === 'exec')?.doc).toContain('call a tool');
  });

  test('an option that was given is not offered again', () => {
    const all = candidatesFor(['tools', '--json', '--'], VALUES).map(({ value }) => value);
    expect(all).toContain('--demo');
    expect(all).not.toContain('--json');
  });
});
