/** Numbers of JSON as texts: any of them, and what tells whether two are the same number. */
import fc from 'fast-check';

const digits = (least: number, most: number) => fc.stringMatching(new RegExp(`^[0-9]{${least},${most}}$`));

/** Short and long, whole and not, with exponents beyond what a double has. */
export const numberText: fc.Arbitrary<string> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc
    .record({
      sign: fc.constantFrom('', '-'),
      whole: fc.oneof(
        fc.constant('0'),
        fc.tuple(fc.constantFrom(...'123456789'), digits(0, 30)).map((all) => all.join('')),
      ),
      fraction: fc.oneof(
        fc.constant(''),
        digits(1, 30).map((text) => `.${text}`),
      ),
      exponent: fc.oneof(
        fc.constant(''),
        fc.integer({ min: -500, max: 500 }).map((power) => `E${power}`),
        fc.nat(40).map((power) => `e+${power}`),
      ),
    })
    .map(({ sign, whole, fraction, exponent }) => sign + whole + fraction + exponent),
);

/** The same text for the same number, and no other. */
export function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const value = BigInt(whole + fraction);
  if (value === 0n) return whole === '' ? `no number: ${text}` : '0';
  const [, significant = '', zeros = ''] = /^(\d*?)(0*)$/.exec(String(value)) ?? [];
  return `${sign}${significant}e${Number(exponent) - fraction.length + zeros.length}`;
}
