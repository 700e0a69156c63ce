/** Completions in real shells: keys are typed on a pseudo-terminal, and the shell shows the line that they make. */
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXECUTABLE, emptyPlace, run, start } from './program.ts';
import { HAS_TERMINAL, isInstalled, onTerminal, type TerminalProgram } from './pseudo-terminal.ts';

const READY = 'READY>';

/** How each shell starts without the files of the user, loads the completion, and prints its words as `RESULT[one][two]`. */
const SHELLS = {
  bash: {
    command: ['bash', '--norc', '--noprofile', '-i'],
    setup: [
      'bind "set bell-style none" 2>/dev/null',
      'eval "$(mcpx completion bash)"',
      'show() { printf "RESULT"; printf "[%s]" "$@"; printf "\\n"; }',
      `PS1='${READY} '`,
    ],
  },
  zsh: {
    command: ['zsh', '-f', '-i'],
    setup: [
      'bindkey -e; unsetopt beep; zstyle ":completion:*" menu no; unsetopt auto_menu',
      'autoload -Uz compinit && compinit -u; eval "$(mcpx completion zsh)"',
      'show() { printf "RESULT"; printf "[%s]" "$@"; printf "\\n"; }',
      `PS1='${READY} '`,
    ],
  },
  fish: {
    command: ['fish', '--no-config', '--interactive'],
    setup: [
      'mcpx completion fish | source',
      'function show; printf RESULT; printf "[%s]" $argv; printf "\\n"; end',
      `function fish_prompt; echo -n '${READY} '; end`,
    ],
  },
};

type ShellName = keyof typeof SHELLS;

/** A shell with mcpx on its PATH, a config of one server, and the catalog of this server on disk. */
async function openShell(name: ShellName): Promise<{ shell: TerminalProgram; marker: string }> {
  const place = emptyPlace();
  const marker = join(place.cwd, 'started');
  const bin = join(place.cwd, 'bin');
  mkdirSync(bin);
  symlinkSync(EXECUTABLE, join(bin, 'mcpx'));
  writeFileSync(join(place.cwd, 'notes one.json'), '{}');
  const server = place.file('server.mjs', SERVER(marker));
  const home = join(place.env.HOME ?? '', '.mcpx');
  mkdirSync(home);
  const config = { mcpServers: { shop: { command: process.execPath, args: [server] } } };
  writeFileSync(join(home, 'config.json'), JSON.stringify(config));
  expect((await run(['tools'], place)).stdout).toContain('shop.order');
  expect(statSync(marker).size).toBeGreaterThan(0);
  const env = { ...place.env, PATH: `${bin}:${place.env.PATH}`, MCPX_HOME: home };
  const { command, setup } = SHELLS[name];
  const shell = onTerminal(command, { cwd: place.cwd, env, columns: 120 });
  for (const line of setup) shell.type(`${line}\n`);
  await shell.until(new RegExp(`(?<!')${READY}`));
  return { shell, marker };
}

/** A server over stdio that writes a file when it starts, and has tools with all that a completion has to quote. */
const SERVER = (marker: string) => `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
appendFileSync(${JSON.stringify(marker)}, 'x');
const text = { type: 'string' };
const tools = [
  { name: 'order', description: 'Order something.', inputSchema: { type: 'object', required: ['size'], properties: {
    size: { enum: ['small', 'very large', 'it\\'s $5'] }, 'note': text, zone: { enum: ['a:b', 'a:c'] }, items: { type: 'array' } } } },
  { name: 'ns:list', inputSchema: { type: 'object', properties: { 'dry-run': { type: 'boolean' } } } },
];
const answers = {
  initialize: (params) => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } }),
  'tools/list': () => ({ tools }),
  ping: () => ({}),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer ? { result: answer(params) } : { error: { code: -32601, message: 'no' } };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
});
`;

/** Types a line that ends in a tab, then runs it as the arguments of \`show\`; returns the words that the shell read. */
async function completed(shell: TerminalProgram, line: string, end = ''): Promise<string[]> {
  const from = shell.shown().length;
  // Ctrl-A is the begin of the line.
  shell.type(`${line}\t${end}\u0001show \r`);
  const [, words = ''] = await shell.until(/RESULT((?:\[[^\n]*\])?)\r?\n/, from);
  await shell.until(new RegExp(READY), from + shell.shown().slice(from).lastIndexOf('RESULT'));
  return words.slice(1, -1).split('][');
}

/** Lines, and their words after the completion. All candidates are unique, so every shell does the same. */
const LINES: { line: string; words: string; end?: string }[] = [
  { line: 'mcpx too', words: 'mcpx tools' },
  { line: 'mcpx config val', words: 'mcpx config validate' },
  { line: 'mcpx help exit', words: 'mcpx help exit-codes' },
  { line: 'mcpx tools --sea', words: 'mcpx tools --search' },
  { line: 'mcpx serve --log-level deb', words: 'mcpx serve --log-level debug' },
  { line: 'mcpx serve --log-level=deb', words: 'mcpx serve --log-level=debug' },
  { line: 'mcpx tools sh', words: 'mcpx tools shop' },
  { line: 'mcpx exec shop.o', words: 'mcpx exec shop.order' },
  { line: 'mcpx exec shop.ns:l', words: 'mcpx exec shop.ns:list' },
  { line: 'mcpx exec shop.order no', words: 'mcpx exec shop.order note=x', end: 'x' },
  { line: 'mcpx exec shop.order it', words: 'mcpx exec shop.order items:=[]', end: "'[]'" },
  { line: 'mcpx exec shop.order size=sm', words: 'mcpx exec shop.order size=small' },
  { line: 'mcpx exec shop.order size=ve', words: 'mcpx exec shop.order size=very_large' },
  { line: 'mcpx exec shop.order size=it', words: "mcpx exec shop.order size=it's_$5" },
  { line: 'mcpx exec shop.order zone=a:c', words: 'mcpx exec shop.order zone=a:c' },
  { line: 'mcpx exec shop.ns:list dry-run=t', words: 'mcpx exec shop.ns:list dry-run=true' },
  { line: 'mcpx setup cur', words: 'mcpx setup cursor' },
  { line: 'mcpx tools -c notes', words: 'mcpx tools -c notes_one.json' },
  { line: 'mcpx exec --demo math.conv', words: 'mcpx exec --demo math.convert_base' },
  { line: 'mcpx exec "shop.o', words: 'mcpx exec shop.order' },
  { line: "mcpx exec shop.order 'size=ve", words: 'mcpx exec shop.order size=very_large' },
  { line: 'MCPX_LANG=en mcpx too', words: 'MCPX_LANG=en mcpx tools' },
  { line: 'mcpx completion pow', words: 'mcpx completion powershell' },
];

describe.each(['bash', 'zsh', 'fish'] as const)('%s', (name) => {
  const canRun = HAS_TERMINAL && isInstalled(name);

  test.runIf(canRun)('shows the words that fit, and inserts what they share', async () => {
    const { shell } = await openShell(name);
    const from = shell.shown().length;
    // The first tab of bash inserts what the words share, and the third one lists them.
    shell.type(`mcpx exec sh${name === 'bash' ? '\t\t\t' : '\t\t'}`);
    await shell.until(/shop\.order[\s\S]*shop\.ns:list|shop\.ns:list[\s\S]*shop\.order/, from);
    if (name !== 'bash') await shell.until(/Order something\./, from);
  });

  test.runIf(canRun)(
    'completes commands, options, servers, tools, arguments and files, and starts no server',
    async () => {
      const { shell, marker } = await openShell(name);
      const starts = statSync(marker).size;
      for (const { line, words, end } of LINES) {
        const got = await completed(shell, line, end);
        expect(got.map((word) => word.replaceAll(' ', '_')).join(' '), `${line}<tab>`).toBe(words);
      }
      expect(statSync(marker).size).toBe(starts);
      shell.type('exit\r');
      await shell.finished;
    },
  );
});

test('a completion without a config, and with a broken one, prints nothing to stderr', async () => {
  const place = emptyPlace();
  const broken = place.file('broken.json', '{');
  for (const words of [
    ['exec', ''],
    ['-c', broken, 'tools', ''],
  ]) {
    const { code, stderr } = await start(['__complete', 'fish', ...words], place).finished;
    expect([code, stderr]).toEqual([0, '']);
  }
});
