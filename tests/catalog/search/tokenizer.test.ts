/** Text as words: splitting, segmenting, endings. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTokenizer, plain, stem, unspacedRuns } from '../../../src/catalog/search/tokenizer.ts';

const words = createTokenizer();

describe('words of a text', () => {
  const SPLIT: [text: string, expected: string[]][] = [
    ['createOrUpdateFile', ['creat', 'or', 'updat', 'file']],
    ['create_or_update_file', ['creat', 'or', 'updat', 'file']],
    ['create-or-update-file', ['creat', 'or', 'updat', 'file']],
    ['create.file/now', ['creat', 'file', 'now']],
    ['getHTTPResponse', ['get', 'http', 'respons']],
    ['OneDrive', ['one', 'driv', 'onedriv']],
    ['e-mail', ['e', 'mail', 'email']],
    ['to-do', ['to', 'do', 'todo']],
    ["somebody's", ['somebodi']],
    ['somebody’s', ['somebodi']],
    ['ＦＩＬＥ café', ['file', 'cafe']],
    ['ms365', ['ms365']],
    ['日本', ['日', '本', '日本']],
    ['发送邮件', ['发', '送', '发送', '邮', '送邮', '件', '邮件']],
    ['予定を', ['予', '定', '予定', 'を', '定を']],
    ['打开 Excel 文件', ['打', '开', '打开', 'excel', '文', '件', '文件']],
    ['', []],
    ['🙂 … !', []],
  ];
  test.each(SPLIT)('%s', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  test('the runs of Chinese and Japanese are found between other text', () => {
    expect(unspacedRuns('把 PR 合进主干 now')).toEqual(['把', '合进主干']);
    expect(unspacedRuns('nothing')).toEqual([]);
  });

  test('whatever the text, words are short, have no space and no capital, and come back the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const found = words(text);
        expect(found.every((word) => word !== '' && word.length <= 200 && !/\s/.test(word))).toBe(true);
        expect(createTokenizer()(text)).toEqual(found);
      }),
    );
  });

  test('spellings that look the same are one', () => {
    expect(plain('ｃａｆé')).toBe('cafe');
    expect(plain('データ')).toBe('データ');
  });
});

describe('stems', () => {
  const SAME: string[][] = [
    ['create', 'creates', 'created', 'creating', 'creation'],
    ['translate', 'translation', 'translations', 'translating'],
    ['navigate', 'navigation'],
    ['query', 'queries', 'querying'],
    ['organise', 'organize', 'organization', 'organisation'],
    ['deploy', 'deploys', 'deployed', 'deployment'],
    ['stop', 'stopped', 'stopping'],
    ['analyse', 'analyze', 'analysis'],
    ['box', 'boxes'],
    ['search', 'searches', 'searching'],
    ['copy', 'copies', 'copied'],
    ['issue', 'issues'],
    ['directory', 'directories'],
  ];
  test.each(SAME)('%s and its forms are one', (...forms) => {
    expect(new Set(forms.map(stem)).size).toBe(1);
  });

  const DIFFERENT: [string, string][] = [
    ['custom', 'customer'],
    ['file', 'fill'],
    ['post', 'poster'],
    ['status', 'state'],
    ['process', 'proceed'],
  ];
  test.each(DIFFERENT)('%s is not %s', (a, b) => {
    expect(stem(a)).not.toBe(stem(b));
  });

  test('short words and words of other scripts stay as they are', () => {
    expect(['is', 'bus', 'ads', 'привет', '文件', 'ms365'].map(stem)).toEqual([
      'is',
      'bus',
      'ads',
      'привет',
      '文件',
      'ms365',
    ]);
  });
});
