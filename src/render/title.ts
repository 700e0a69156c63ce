/** The title of a tool. Some servers put more into it than into the name; most repeat the name. */
import { clean, cut, oneLine } from './text.ts';

interface Titled {
  name: string;
  title?: unknown;
  description?: unknown;
  annotations?: unknown;
}

/** Maximum code points of a title. */
const MAX_TITLE = 200;
/** Maximum characters of a description that a title is compared with. */
const MAX_TEXT = 2000;

/**
 * Returns the titles of a tool, the one with precedence first.
 * https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
 */
export function titlesOf({ title, annotations }: Pick<Titled, 'title' | 'annotations'>): string[] {
  const annotated = (annotations as { title?: unknown } | null | undefined)?.title;
  const texts = [title, annotated].filter((text) => typeof text === 'string');
  return [...new Set(texts.map((text) => cut(oneLine(clean(text)), MAX_TITLE)))].filter((text) => text !== '');
}

/** Returns the description of a tool; without one, the title if it says more than the name. */
export function aboutTool(tool: Titled): string {
  const { description } = tool;
  const isTold = description !== undefined && description !== null && description !== '';
  return isTold ? String(description) : telling(tool);
}

/** Returns the title if it has a word that neither the name nor the description has, otherwise an empty string. */
export function addedTitle(tool: Titled): string {
  return telling(tool, aboutTool(tool).slice(0, MAX_TEXT));
}

/** Returns the first title, or an empty string if the name and `besides` contain all of its words. */
function telling(tool: Titled, besides = ''): string {
  const [title = ''] = titlesOf(tool);
  const said = new Set([...wordsIn(tool.name), ...wordsIn(besides)]);
  return wordsIn(title).every((word) => said.has(word)) ? '' : title;
}

function wordsIn(text: string): string[] {
  const spaced = text.replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
  return spaced.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}
