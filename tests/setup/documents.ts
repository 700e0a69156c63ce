/** Every document of the repository for the tests: pages in English and Chinese, their commands, and what they show in a terminal. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type CodeBlock, type Document, readMarkdown } from './markdown.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** A document with its path from the root of the repository. */
export interface Page extends Document {
  file: string;
  text: string;
}

export const pathOf = (file: string) => join(ROOT, file);
export const textOf = (file: string) => readFileSync(pathOf(file), 'utf8');

export function pageOf(file: string): Page {
  const text = textOf(file);
  return { file, text, ...readMarkdown(text) };
}

const markdownIn = (folder: string) =>
  readdirSync(pathOf(folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => pageOf(folder === '.' ? name : `${folder}/${name}`));

/** Documents in the root of the repository, and all pages of `docs/` in both languages. */
export const DOCUMENTS: Page[] = ['.', 'docs', 'docs/zh-CN'].flatMap(markdownIn);

/** The Chinese page of an English one. */
export const chineseOf = (file: string) =>
  file === 'README.md' ? 'README.zh-CN.md' : file.replace(/^docs\//, 'docs/zh-CN/');

/** Pages for users: the README, and `docs/`. */
export const ENGLISH: Page[] = [pageOf('README.md'), ...markdownIn('docs')];
export const CHINESE: Page[] = [pageOf('README.zh-CN.md'), ...markdownIn('docs/zh-CN')];

/** The rows of the table whose first cell is `first`. */
export function tableOf(pages: readonly Page[], first: string): string[][] {
  const [found = [], ...others] = pages.flatMap(({ tables }) => tables).filter((rows) => rows[0]?.[0] === first);
  if (others.length > 0) throw new Error(`${others.length + 1} tables begin with ${first}`);
  return found;
}

/** Code blocks in one language with the page and the line of each. */
export function blocksOf(pages: readonly Page[], language: string): (CodeBlock & { file: string })[] {
  return pages.flatMap(({ file, blocks }) =>
    blocks.filter((block) => block.language === language).map((block) => ({ ...block, file })),
  );
}

/** Command lines in fences and in sentences: pipelines apart, without prompts, variables in front, and comments. */
export function linesOf({ blocks, spans }: Pick<Document, 'blocks' | 'spans'>): string[] {
  const typed = blocks.flatMap((block) => {
    if (block.language === 'console') return sessionsOf(block).map(({ line }) => line);
    return block.language === 'sh' ? block.text.replaceAll('\\\n', ' ').split('\n') : [];
  });
  return [...typed, ...spans]
    .flatMap((line) => line.replace(/\s#.*$/, '').split(/\s(?:\||&&|;)\s/))
    .map((line) => line.replace(/^(?:[A-Z_]+=\S*\s+)+/, '').trim());
}

/** Returns each line after `$` in a `console` block, with the output under it. */
export function sessionsOf({ text: shown }: Pick<CodeBlock, 'text'>): { line: string; output: string }[] {
  return shown
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...output] = part.split('\n');
      return { line, output: output.join('\n').trimEnd() };
    });
}
