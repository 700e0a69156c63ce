/** The words of the search: lists by subject in `tables/*.json`, which the build packs. Words joined by `_` are a phrase. */
import chinese from './tables/chinese.json' with { type: 'json' };
import oneWay from './tables/one-way-synonyms.json' with { type: 'json' };
import products from './tables/products.json' with { type: 'json' };
import stopwords from './tables/stopwords.json' with { type: 'json' };
import synonyms from './tables/synonyms.json' with { type: 'json' };

/** English words of one meaning, any of which finds the others. */
export const SYNONYMS: readonly string[] = Object.values(synonyms).flat();

/** Chinese = English, the most usual word first. The longest Chinese word that matches is taken. */
export const CHINESE: readonly string[] = Object.values(chinese).flat();

/**
 * Expression > the words of tools for it; not the other way round. The most exact comes first. `^` marks a verb that has
 * this meaning at the beginning of a question.
 */
export const ONE_WAY_SYNONYMS: readonly string[] = Object.values(oneWay).flat();

/** Names as they appear in the names of servers > the words that people use for their purpose. */
export const PRODUCTS: readonly string[] = Object.values(products).flat();

/** Words that are ignored in a question. */
export const STOP_ENGLISH: readonly string[] = wordsOf(stopwords.English);
export const STOP_CHINESE: readonly string[] = wordsOf(stopwords.Chinese);

/** Acts so general that their object is more significant. */
export const GENERAL_ACTS: readonly string[] = wordsOf(stopwords['General actions']);

/** Words for times, which are seldom what is searched for. */
export const TIMES: readonly string[] = wordsOf(stopwords.Times);

function wordsOf(lines: string[]): string[] {
  return lines.join(' ').split(' ');
}
