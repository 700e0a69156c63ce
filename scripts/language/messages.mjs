/**
 * npm run messages: lists the English texts for people in the source that have no Chinese text in src/cli/language.
 * Texts are the arguments of the calls in `CALLS`. A value in a template is {0}, {1} and so on; each line is a text of its own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';
import { at, isMain, readJson, runMain } from '../project.mjs';

/** The calls whose first arguments people read; of an error it is the second one, and its hint. */
const CALLS = new Set(
  `note warn say agree askYesNo askOnTerminal whileWaiting inLanguage status.info status.warn status.error status.start`.split(
    ' ',
  ),
);

/** Folders whose errors and notes people see in a shell. */
export const FOLDERS = ['cli', 'client-config', 'config', 'policy', 'router', 'server-packages', 'upstream'];

/** True for a command to type, which is the same in every language. */
const isCommand = (text) =>
  /^mcpx(?: [a-z-]+){0,2}(?: (?:--?[\w-]+|(?:\{\d+\})+|<[\w.]+>|\d+|"[^"]*"|\S*[/.:=]\S*))*$/.test(text);

/** The subject of a message whose other parts are values, which are texts of their own. */
const SUBJECT = /^(?:server|config file) "\{\d+\}"/;

/** True for a text with at least one word that is no value, no option and no subject. */
const hasWords = (text) =>
  /(?<![\w-])[A-Za-z]{2,}/.test(text.replace(SUBJECT, '').replace(/\{\d+\}|`[^`]*`|--[\w-]+/g, ''));

/** The texts in an expression: literals and templates, in all branches of conditions and in nested templates. */
function textsIn(node) {
  switch (node?.type) {
    case 'Literal':
      return typeof node.value === 'string' ? [node.value] : [];
    case 'TemplateLiteral': {
      const parts = node.quasis.map(
        (quasi, index) => (index === 0 ? '' : `\u0000${index - 1}\u0000`) + quasi.value.cooked,
      );
      return [parts.join(''), ...node.expressions.flatMap(textsIn)];
    }
    case 'ConditionalExpression':
      return [...textsIn(node.consequent), ...textsIn(node.alternate)];
    case 'ArrayExpression':
      return node.elements.flatMap(textsIn);
    case 'LogicalExpression':
      return [...textsIn(node.left), ...textsIn(node.right)];
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
      return textsIn(node.expression);
    default:
      return [];
  }
}

/** Numbers the values of one line from 0, and takes the white space around it away. */
function lineKey(line) {
  let next = 0;
  return line.replace(/\u0000\d+\u0000/g, () => `{${next++}}`).trim();
}

/** The name of a called function: `note`, `status.info`. */
function calleeOf({ callee }) {
  if (callee.type === 'Identifier') return callee.name;
  return callee.type === 'MemberExpression' ? `${callee.object.name}.${callee.property.name}` : '';
}

const hintOf = (details) => fieldsOf(details, ['hint']);

function fieldsOf(object, names = [...DIAGNOSTIC]) {
  const found = object?.properties?.filter((property) => names.includes(property.key?.name)) ?? [];
  return found.flatMap(({ value }) => textsIn(value));
}

/** Fields and variables of `mcpx doctor` whose texts people read. */
const FINDING = new Set(['message', 'reason', 'facts', 'lost', 'answer']);

/** Variables of the config's mistakes and warnings whose texts people read. */
const DIAGNOSTIC = new Set(['message', 'hint']);

/** The texts of one source file, without those that are the same in every language. */
export function textsOf(path, source) {
  const found = [];
  const isDoctor = path.startsWith('cli/doctor/');
  const isConfig = path.startsWith('config/');
  new Visitor({
    NewExpression(node) {
      if (node.callee.name === 'McpxError') found.push(...textsIn(node.arguments[1]), ...hintOf(node.arguments[2]));
    },
    CallExpression(node) {
      const callee = calleeOf(node);
      if (callee === 'findings.warn' || callee === 'findings.error') found.push(...fieldsOf(node.arguments[0]));
      if (CALLS.has(callee)) found.push(...textsIn(node.arguments[0]));
    },
    Property({ key, value }) {
      if (isDoctor && FINDING.has(key.name)) found.push(...textsIn(value));
    },
    VariableDeclarator({ id, init }) {
      const isFound = isDoctor ? FINDING.has(id.name) : isConfig && DIAGNOSTIC.has(id.name);
      if (isFound) found.push(...textsIn(init));
    },
  }).visit(parseSync(path, source).program);
  const lines = found.flatMap((text) => text.split('\n')).map(lineKey);
  return [...new Set(lines)].filter((line) => hasWords(line) && !isCommand(line));
}

/** Every text by the files that have it. */
export function sourceTexts(folders = FOLDERS) {
  const texts = new Map();
  for (const folder of folders) {
    const root = at('src', folder);
    for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    )) {
      const name = `${folder}/${path.split(sep).join('/')}`;
      for (const text of textsOf(name, readFileSync(join(root, path), 'utf8'))) {
        texts.set(text, [...(texts.get(text) ?? []), name]);
      }
    }
  }
  return texts;
}

/** All texts that have a Chinese one. */
export const chinese = () =>
  Object.assign({}, ...['help', 'messages'].map((name) => readJson(at('src', 'cli', 'language', `zh-${name}.json`))));

/** The texts of the source that have no Chinese one, by their files. A number in the table, {#0}, is a value here. */
export function untranslated() {
  const known = new Set(Object.keys(chinese()).map((key) => key.replaceAll('{#', '{')));
  return [...sourceTexts()].filter(([text]) => !known.has(text));
}

if (isMain(import.meta.url)) {
  await runMain(() => {
    for (const [text, files] of untranslated()) {
      process.stdout.write(`${JSON.stringify(text)}  ${files.join(', ')}\n`);
    }
  });
}
