/** Weights of the words of a question by position: the wanted thing comes first, then its subject, time and reason. */
import { stem } from './tokenizer.ts';

/** Words that introduce details of a thing named before. */
const DETAILS =
  'about that saying says because since which whose where titled regarding concerning containing from with so while after before until';
/** Words for times, which are seldom what is searched for. */
const TIMES =
  'today tomorrow tonight yesterday weekend morning afternoon evening night noon hour minute second day week month year monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december lately recently currently soon next last past';
/** Matches Chinese words that introduce a quotation or a reason. */
const CHINESE_DETAILS = /说(?!明)|内容是|内容为|标题是|因为/u;
const CHINESE_TIMES =
  '今天 今晚 今早 明天 明早 明晚 后天 昨天 昨晚 前天 本周 这周 下周 上周 周末 周一 周二 周三 周四 周五 周六 周日 星期 上午 下午 早上 中午 晚上 本月 这个月 下个月 上个月 今年 去年 最近 刚才';

const WEIGHT = { wanted: 1, detail: 0.6, time: 0.5 };
/** Number of significant words before a detail can begin. */
const ENOUGH = 2;

export interface TermWeights {
  /** Returns the weight of each word of an English question, from 0 to 1; `says` returns true for significant words. */
  of(words: readonly string[], says: (word: string) => boolean): number[];
  /** Splits a run of Chinese into the wanted thing and, if there are any, the details. */
  parts(run: string): { text: string; weight: number }[];
  isTime(chinese: string): boolean;
  time: number;
}

export function createTermWeights(): TermWeights {
  const details = new Set(DETAILS.split(' ').map(stem));
  const times = new Set(TIMES.split(' ').map(stem));
  const chineseTimes = new Set(CHINESE_TIMES.split(' '));
  return {
    of(words, says) {
      let said = 0;
      let place = WEIGHT.wanted;
      return words.map((word) => {
        if (details.has(word) && said >= ENOUGH) place = WEIGHT.detail;
        if (says(word)) said += 1;
        return times.has(word) || /^\d+$/.test(word) ? WEIGHT.time : place;
      });
    },
    parts(run) {
      const at = run.search(CHINESE_DETAILS);
      if (at < ENOUGH) return [{ text: run, weight: WEIGHT.wanted }];
      return [
        { text: run.slice(0, at), weight: WEIGHT.wanted },
        { text: run.slice(at).replace(CHINESE_DETAILS, ''), weight: WEIGHT.detail },
      ];
    },
    isTime: (chinese) => chineseTimes.has(chinese),
    time: WEIGHT.time,
  };
}
