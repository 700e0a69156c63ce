/** The completion scripts: each shell parses its own, where it is installed; that of PowerShell is also read here. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../../../src/cli/cli.ts';
import { INSTALL, SCRIPTS } from '../../../src/cli/completion/shell-scripts.ts';
import { COMPLETE_COMMAND, SHELLS } from '../../../src/cli/completion/shell-words.ts';
import { captureOutput } from '../../setup/output.ts';

const shown = captureOutput();

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

test.each(SHELLS)('mcpx completion %s prints the script, which asks for completions', async (shell) => {
  expect(await mcpx('completion', shell)).toBe(0);
  expect(shown.stdout).toBe(SCRIPTS[shell]);
  expect(SCRIPTS[shell]).toContain(` ${COMPLETE_COMMAND} ${shell} `);
  expect(INSTALL[shell]).toContain(`mcpx completion ${shell}`);
});

test('an unknown shell is refused with the nearest name', async () => {
  expect(await mcpx('completion', 'zhs')).toBe(2);
  expect(shown.stderr).toContain('hint: mcpx completion zsh');
  expect(await mcpx('completion', 'tcl')).toBe(2);
  expect(shown.stderr).toContain('use one of bash, zsh, fish, powershell');
});

const PARSERS = [
  { shell: 'bash', title: 'bash', command: ['bash', '-n'] },
  { shell: 'zsh', title: 'zsh', command: ['zsh', '-n'] },
  { shell: 'fish', title: 'fish', command: ['fish', '--no-execute'] },
  { shell: 'powershell', title: 'PowerShell', command: ['pwsh', '-NoProfile', '-File'] },
] as const;

for (const { shell, title, command } of PARSERS) {
  const [program, ...args] = command;
  const isHere = spawnSync(program, ['--version']).status === 0;
  test.runIf(isHere)(`${title}, where it is installed, parses its script`, () => {
    const file = join(mkdtempSync(join(tmpdir(), 'mcpx-script-')), 'mcpx.ps1');
    writeFileSync(file, SCRIPTS[shell]);
    const { status, stderr } = spawnSync(program, [...args, file], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
}

test('brackets and quotes of the PowerShell script are in pairs', () => {
  const code = SCRIPTS.powershell.replace(/^#.*$/gm, '').replace(/'[^'\n]*'|"[^"\n]*"/g, 'x');
  expect(code).not.toMatch(/['"]/);
  const open: string[] = [];
  const pairs: Record<string, string> = { ')': '(', ']': '[', '}': '{' };
  for (const letter of code) {
    if ('([{'.includes(letter)) open.push(letter);
    if (letter in pairs) expect(open.pop()).toBe(pairs[letter]);
  }
  expect(open).toEqual([]);
  // A null-coalescing or ternary operator would need PowerShell 7; 5.1 is part of Windows.
  expect(code).not.toMatch(/\?\?|\?\.|&&|\|\||\? /);
});
