/** The command line of the embedded Node. */
import { expect, test } from 'vitest';
import { readNodeLine } from '../../../src/cli/embedded-node/node-options.ts';

function check(words: string, expected: object): void {
  expect(readNodeLine(words.split(' ').filter((word) => word !== ''))).toMatchObject(expected);
}

test('the script ends the options, and the words after it are its own', () => {
  check('a.js --env-file=x -e', { options: [], rest: ['a.js', '--env-file=x', '-e'], envFiles: [] });
  check('--no-warnings a.js', { options: ['--no-warnings'], rest: ['a.js'] });
  check('--no-warnings -- -a.js', { rest: ['-a.js'] });
  check('- x', { options: [], rest: ['-', 'x'] });
  check('', { options: [], rest: [] });
});

test('values are the next word or follow an equals sign', () => {
  const files = [
    { file: 'a', required: true },
    { file: 'b', required: false },
  ];
  check('--env-file a --env-file-if-exists=b c.js', { envFiles: files, rest: ['c.js'] });
  check('-r ./a --require=b --import c x.js', { requires: ['./a', 'b'], imports: ['c'], rest: ['x.js'] });
  check('--inspect a.js', { rest: ['a.js'] });
});

test('code stands in place of a script', () => {
  check('-e 1 a b', { code: '1', print: false, rest: ['a', 'b'] });
  check('--print=2', { code: '2', print: true });
  check('-pe 3', { code: '3', print: true });
  check('--input-type=module -e 4', { code: '4', inputType: 'module' });
  check('-v', { version: true });
});

test('underscores are dashes, as in Node', () => {
  check('--enable_source_maps --max_old_space_size=9 a.js', { ineffective: ['--max-old-space-size'], rest: ['a.js'] });
});

test('sizes have no effect and are named; options for the usual behaviour are taken', () => {
  check('--max-old-space-size 4096 --use-system-ca --disable-warning=X --disable-warning Y a.js', {
    ineffective: ['--max-old-space-size'],
    rest: ['a.js'],
  });
});

test.each(['--permission', '--watch', '--test', '--check', '-i', '-c', '--run', '--constructor', '--no-such-option'])(
  '%s is refused: nothing that a user relies on is passed over',
  (option) => {
    expect(() => readNodeLine([option, 'a.js'])).toThrow(`the Node inside mcpx has no option "${option}"`);
  },
);

test.each(['-e', '--require', '--env-file'])('%s without a value is refused', (option) => {
  expect(() => readNodeLine([option])).toThrow(`the option "${option}" of node needs a value`);
});
