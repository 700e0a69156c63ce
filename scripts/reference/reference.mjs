/**
 * npm run reference: writes the table of all settings into docs/configuration.md and its Chinese page, from the table of config fields.
 * With --check it only says whether both are fresh. The Chinese texts are in settings.zh-CN.json, by the English text.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { at, BuildError, isMain, readJson, runMain } from '../project.mjs';

const MARKS = ['<!-- begin of the settings, written by npm run reference -->', '<!-- end of the settings -->'];

/** The words of the tables in both languages. Fields of other kinds than `KINDS` have the name of their kind. */
const LANGUAGES = {
  en: {
    file: 'docs/configuration.md',
    head: ['key', 'value', 'default', 'meaning'],
    titles: {
      server: 'Fields of a server',
      profile: 'Fields of a profile',
      token: 'Fields of a token',
      rule: 'Fields of a rule for access tokens',
      rest: 'Other keys',
    },
    kinds: {
      string: 'text',
      scalar: 'text, number or boolean',
      boolean: 'boolean',
      integer: 'whole number',
      number: 'number',
      duration: 'duration',
      size: 'size',
      open: 'object',
      servers: 'servers by name',
      profiles: 'profiles by name',
    },
    list: (kind) => `list: ${kind}`,
    map: (kind) => `object of ${kind}`,
    from: (min, max) => (max === undefined ? `from ${min}` : `${min} to ${max}`),
    or: ', ',
    orNull: ' or null',
    text: (doc) => doc,
    join: ', ',
  },
  zh: {
    file: 'docs/zh-CN/configuration.md',
    head: ['键', '值', '默认值', '含义'],
    titles: {
      server: '服务器的字段',
      profile: '配置方案的字段',
      token: '令牌的字段',
      rule: '访问令牌规则的字段',
      rest: '其他键',
    },
    kinds: {
      string: '文本',
      scalar: '文本、数字或布尔值',
      boolean: '布尔值',
      integer: '整数',
      number: '数字',
      duration: '时长',
      size: '大小',
      open: '对象',
      servers: '服务器映射',
      profiles: '配置方案映射',
    },
    list: (kind) => `列表：${kind}`,
    map: (kind) => `对象，值为${kind}`,
    from: (min, max) => (max === undefined ? `不小于 ${min}` : `${min} 到 ${max}`),
    or: '、',
    orNull: '或 null',
    join: '，',
  },
};

async function loadFields() {
  const contents = `
    export { DOCUMENT, PROFILE, SERVER, TOKEN } from './src/config/fields.ts';
    export { OAUTH_RULE } from './src/config/gateway-oauth-fields.ts';
    export { DEFAULTS, SERVER_DEFAULTS } from './src/config/config.ts';
    export { formatDuration, formatSize } from './src/config/units.ts';`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: at(), loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

/** Every field that holds a value, with its path; groups are walked through. */
export function leavesOf(fields, defaults, path = '') {
  return Object.entries(fields).flatMap(([key, field]) => {
    const fallback = defaults?.[key];
    if (field.kind === 'group') return leavesOf(field.fields, fallback, `${path}${key}.`);
    return [{ path: `${path}${key}`, field, fallback }];
  });
}

function kindOf(field, words) {
  const quoted = (values) => values.map((value) => `\`"${value}"\``).join(words.or);
  const plain = () => {
    if (field.kind === 'enum') return quoted(field.values);
    if (field.kind === 'enum-or-list') return `${quoted(field.values)}${words.or}${words.list(words.kinds.string)}`;
    if (field.kind === 'list')
      return words.list(field.of.kind === 'group' ? words.titles[field.of.name ?? 'token'] : kindOf(field.of, words));
    if (field.kind === 'map') return words.map(kindOf(field.of, words));
    const range = field.kind === 'integer' && (field.min > 0 || field.max !== undefined);
    return `${words.kinds[field.kind]}${range ? `${words.join}${words.from(field.min, field.max)}` : ''}`;
  };
  return `${plain()}${field.nullable ? words.orNull : ''}`;
}

function defaultOf({ field, fallback }, { formatDuration, formatSize }) {
  if (fallback === undefined) return '';
  const shown =
    typeof fallback !== 'number'
      ? fallback
      : field.kind === 'duration'
        ? formatDuration(fallback)
        : field.kind === 'size'
          ? formatSize(fallback)
          : fallback;
  return `\`${JSON.stringify(shown)}\``;
}

/** The tables of one language. */
export function tables(config, language, translations) {
  const words = LANGUAGES[language];
  const text = (doc = '') => {
    if (language === 'en' || doc === '') return doc;
    const found = translations[doc];
    if (found !== undefined) return found;
    throw new BuildError(`no Chinese text for ${JSON.stringify(doc)}`, {
      hint: 'add it to scripts/reference/settings.zh-CN.json',
    });
  };
  const table = (title, leaves) => {
    const rows = leaves.map((leaf) => {
      return [`\`${leaf.path}\``, kindOf(leaf.field, words), defaultOf(leaf, config), text(leaf.field.doc)];
    });
    const lines = [words.head, words.head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
    return [
      `### ${title}`,
      '',
      ...lines.map((line) =>
        line.replaceAll('|  |', '| |').replace(/^\| (---.*) \|$/, (_, rule) => `|${rule.replaceAll(' ', '')}|`),
      ),
      '',
    ];
  };
  const { DOCUMENT, DEFAULTS, SERVER, SERVER_DEFAULTS, PROFILE, TOKEN, OAUTH_RULE } = config;
  const groups = Object.entries(DOCUMENT).filter(([, { kind }]) => kind === 'group');
  const isMap = ({ kind }) => kind === 'servers' || kind === 'profiles';
  const single = Object.entries(DOCUMENT).filter(([, { kind }]) => kind !== 'group');
  const rest = Object.fromEntries([
    ...single.filter(([, field]) => !isMap(field)),
    ...single.filter(([, field]) => isMap(field)),
  ]);
  return [
    ...table(words.titles.rest, leavesOf(rest, DEFAULTS)),
    ...table(words.titles.server, leavesOf(SERVER, SERVER_DEFAULTS)),
    ...table(words.titles.profile, leavesOf(PROFILE)),
    ...groups.flatMap(([key, { fields }]) => table(`\`${key}\``, leavesOf(fields, DEFAULTS[key], `${key}.`))),
    ...table(words.titles.token, leavesOf(TOKEN.fields)),
    ...table(words.titles.rule, leavesOf(OAUTH_RULE.fields)),
  ]
    .join('\n')
    .trimEnd();
}

/** The page with fresh tables between its marks. */
export function freshPage(page, written) {
  const [begin, end] = MARKS;
  const [before, inside] = [page.split(begin)[0], page.split(end)[1]];
  if (inside === undefined || before === page) throw new BuildError('the page has no marks around the settings');
  return `${before}${begin}\n\n${written}\n\n${end}${inside}`;
}

if (isMain(import.meta.url)) {
  await runMain(async (args) => {
    const config = await loadFields();
    const translations = readJson(at('scripts', 'reference', 'settings.zh-CN.json'));
    for (const language of Object.keys(LANGUAGES)) {
      const file = at(LANGUAGES[language].file);
      const page = readFileSync(file, 'utf8');
      const fresh = freshPage(page, tables(config, language, translations));
      if (fresh === page) continue;
      if (args.includes('--check')) {
        throw new BuildError(`"${LANGUAGES[language].file}" is stale`, { hint: 'npm run reference' });
      }
      writeFileSync(file, fresh);
    }
  });
}
