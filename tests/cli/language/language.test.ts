/** The language of messages: which one is chosen, how a line finds its Chinese text, and that every text for people has one. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { chinese, untranslated } from '../../../scripts/language/messages.mjs';
import { runCli } from '../../../src/cli/cli.ts';
import { nameOf } from '../../../src/cli/command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../../../src/cli/commands.ts';
import { TOPICS, type Topic } from '../../../src/cli/help-topics.ts';
import { createTranslator, language, languageOf } from '../../../src/cli/language/language.ts';
import { CLIENT_TABLE } from '../../../src/client-config/client-table.ts';
import { environmentOf } from '../../../src/config/environment.ts';
import { widthOf } from '../../../src/render/columns.ts';
import { pathOf, textOf } from '../../setup/documents.ts';
import { captureOutput } from '../../setup/output.ts';

const shown = captureOutput();
const TEXTS = chinese();

afterEach(() => {
  vi.unstubAllEnvs();
  language.useEnglish();
});

const mcpx = (...words: string[]) =>
  runCli({ words, stdinIsTerminal: true, stop: new AbortController().signal, atExit: () => undefined });

describe('the language is chosen by', () => {
  test.each([
    [{}, 'en'],
    [{ LANG: 'zh_CN.UTF-8' }, 'zh'],
    [{ LANG: 'zh_TW.utf8' }, 'zh'],
    [{ LANG: 'zh_CN.GBK' }, 'en'],
    [{ LANG: 'zh' }, 'zh'],
    [{ LANG: 'de_DE.UTF-8' }, 'en'],
    [{ LC_ALL: 'C', LANG: 'zh_CN.UTF-8' }, 'en'],
    [{ LC_ALL: '', LC_MESSAGES: 'zh_CN.UTF-8', LANG: 'en_US.UTF-8' }, 'zh'],
    [{ MCPX_LANG: 'zh', LC_ALL: 'C' }, 'zh'],
    [{ MCPX_LANG: 'zh-CN' }, 'zh'],
    [{ MCPX_LANG: 'en', LANG: 'zh_CN.UTF-8' }, 'en'],
    [{ LANG: 'zha_CN.UTF-8' }, 'en'],
  ])('%j: %s', (env, expected) => {
    expect(languageOf({ env, platform: 'linux', system: 'zh-CN' })).toBe(expected);
  });

  test('the system, on Windows, where no variable names it', () => {
    expect(languageOf({ env: {}, platform: 'win32', system: 'zh-CN' })).toBe('zh');
    expect(languageOf({ env: { MCPX_LANG: 'en' }, platform: 'win32', system: 'zh-CN' })).toBe('en');
  });
});

describe('a line', () => {
  const translate = createTranslator({
    ready: '就绪',
    'there is no command "{0}"': '没有命令“{0}”',
    '{0} is left out: {1}': '已跳过 {0}：{1}',
    '{#0} servers: {1}': '{0} 个服务器：{1}',
    '{0} needs {1}': '{0} 需要 {1}',
    'server "{0}": {1}': '服务器“{0}”：{1}',
    '{#0} failed': '{0} 个失败',
    '{#0} ready': '{0} 个就绪',
  });

  test.each([
    ['ready', '就绪'],
    ['  ready', '  就绪'],
    ['unknown text', 'unknown text'],
    ['there is no command "ready"', '没有命令“ready”'],
    ['there is no command "x$&y"', '没有命令“x$&y”'],
    ['Cursor is left out: there is no command "x"', '已跳过 Cursor：没有命令“x”'],
    ['3 servers: 2 ready, 1 failed', '3 个服务器：2 个就绪，1 个失败'],
    ['mcpx ready', 'mcpx ready'],
    ['TOKEN needs a value', 'TOKEN 需要 a value'],
    ['name in its "env" whatever it needs beyond PATH', 'name in its "env" whatever it needs beyond PATH'],
    ['server "a" is not at "b": ready', 'server "a" is not at "b": ready'],
    ['3 servers: ready, set', '3 个服务器：ready, set'],
    ['', ''],
  ])('%j', (line, expected) => expect(translate(line)).toBe(expected));
});

const valuesOf = (text: string) => (text.replaceAll('{#', '{').match(/\{\d+\}/g) ?? []).sort();

describe('the Chinese texts', () => {
  test('every message, error and question for people has one (npm run messages)', () => {
    expect(untranslated().map(([text, files]) => `${text} in ${files.join(', ')}`)).toEqual([]);
  });

  test('every text of the help has one', () => {
    const names: string[] = Object.values(CLIENT_TABLE).map(({ title }) => title);
    const topics = Object.values<Topic>(TOPICS).flatMap(({ summary, parts }) => [
      summary,
      ...parts.flatMap((part) => (typeof part === 'string' ? part : part.terms.map(([, text]) => text))),
    ]);
    const commands = COMMANDS.flatMap(({ group, summary, options }) => [
      group,
      summary,
      ...options.map(({ doc }) => doc),
    ]);
    const all = [...commands, ...GLOBAL_OPTIONS.map(({ doc }) => doc), ...topics];
    // An example of a config is the same in both languages.
    const missing = all.filter((text) => TEXTS[text] === undefined && !/^"\w+": \{/.test(text));
    expect([...new Set(missing)].filter((text) => !names.includes(text) || /home-manager/.test(text))).toEqual([]);
  });

  test('each has the values of its English text, and Chinese letters', () => {
    const wrong = Object.entries(TEXTS).filter(([english, text]) => `${valuesOf(english)}` !== `${valuesOf(text)}`);
    expect(wrong).toEqual([]);
    const same = Object.entries(TEXTS).filter(([english, text]) => english === text);
    expect(same.filter(([english]) => !/^(?:--|mcpx |call )/.test(english)).map(([text]) => text)).toEqual([]);
  });

  test('none is for an English text that the source no longer has', () => {
    const files = readdirSync(pathOf('src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.ts$/.test(file),
    );
    const source = files.map((file) => textOf(join('src', file)).replace(/\\(['$])/g, '$1')).join('\n');
    const parts = (text: string) =>
      text.split(/\{#?\d+\}|[;:,%]/).map((part) => part.replace(/^[\s"()]+|[\s"()]+$/g, ''));
    const gone = Object.keys(TEXTS).filter((text) => parts(text).some((part) => !source.includes(part)));
    expect(gone).toEqual([]);
  });
});

describe('mcpx in Chinese', () => {
  test.each(['', ...COMMANDS.map(({ usage }) => nameOf(usage)), ...Object.keys(TOPICS)])(
    'help %s has no word that is broken and no line over 80 columns',
    async (topic) => {
      vi.stubEnv('MCPX_LANG', 'zh');
      expect(await mcpx('help', ...topic.split(' ').filter((word) => word !== ''))).toBe(0);
      expect(shown.stdout).toMatch(/\p{Script=Han}/u);
      const tooLong = shown.stdout.split('\n').filter((line) => widthOf(line) > 80);
      expect(tooLong.filter((line) => line.trim().includes(' ') && !line.startsWith('  mcpx '))).toEqual([]);
    },
  );

  test('says errors and hints in Chinese; exit codes, flags and JSON stay as they are', async () => {
    vi.stubEnv('MCPX_LANG', 'zh');
    expect(await mcpx('tolls')).toBe(2);
    expect(shown.stderr).toBe('错误：没有命令“tolls”\n\n提示：mcpx tools\n');
    shown.stderr = '';
    expect(await mcpx('list', '--jsn')).toBe(2);
    expect(shown.stderr).toBe('错误：未知选项“--jsn”\n\n提示：你是不是想输入 --json？\n');
    shown.stdout = '';
    for (const command of [['list', '--demo'], ['help'], ['config', 'schema']]) {
      vi.stubEnv('MCPX_LANG', 'zh');
      expect(await mcpx(...command, '--json')).toBe(0);
      const inChinese = shown.stdout;
      shown.stdout = '';
      vi.stubEnv('MCPX_LANG', 'en');
      expect(await mcpx(...command, '--json')).toBe(0);
      expect(inChinese).toBe(shown.stdout);
      shown.stdout = '';
    }
  });

  test('prints what a tool answers as it is', async () => {
    vi.stubEnv('MCPX_LANG', 'zh');
    expect(await mcpx('exec', '--demo', 'memory.set', 'key=a', 'value=ready')).toBe(0);
    expect(await mcpx('exec', '--demo', 'math.calculate', 'expression=1/')).toBe(5);
    expect(shown.stderr).toMatch(/^错误：[\x20-\x7e]+/);
  });

  test('aligns the columns of a table', async () => {
    vi.stubEnv('MCPX_LANG', 'zh');
    expect(await mcpx('list', '--demo')).toBe(0);
    const columns = shown.stdout
      .trimEnd()
      .split('\n')
      .map((line) => widthOf(line.slice(0, line.lastIndexOf(' '))));
    expect(shown.stdout).toContain('从未启动');
    expect(new Set(columns).size).toBe(1);
  });
});

test('the environment of this test run is English', () => {
  expect(languageOf(environmentOf())).toBe('en');
});
