/** Messages over the size limit are not sent. */
import { expect, test } from 'vitest';
import { checkSize } from '../../src/wire/message.ts';

test.each<[what: string, written: string | Buffer[], slack: number | undefined, fits: boolean]>([
  ['as many bytes as the bound', 'x'.repeat(90), undefined, true],
  ['one byte more', 'x'.repeat(91), undefined, false],
  ['fewer characters but more bytes', '中'.repeat(31), undefined, false],
  ['as many bytes in fewer characters', '中'.repeat(30), undefined, true],
  ['a little more where that is allowed', 'x'.repeat(100), 10, true],
  ['more than a little', 'x'.repeat(101), 10, false],
  ['pieces that fit together', [Buffer.alloc(45), Buffer.alloc(45)], undefined, true],
  ['pieces that do not', [Buffer.alloc(45), Buffer.alloc(46)], undefined, false],
])('%s', (_, written, slack, fits) => {
  const checked = expect(() => checkSize(written, 90, slack));
  if (fits) checked.not.toThrow();
  else
    checked.toThrow(
      expect.objectContaining({
        code: 'overloaded',
        message: 'a message is over the limit of 90 bytes',
        hint: 'raise "limits.messageBytes" in the config',
      }),
    );
});
