/** Log lines without their times, which differ from run to run. */

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /;

/** The text without the time at the beginning of each message; fails where a message has none. Further lines of a message are indented. */
export function withoutTimes(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      if (line === '' || line.startsWith('  ')) return line;
      if (!TIME.test(line)) throw new Error(`a log line has no time: ${line}`);
      return line.replace(TIME, '');
    })
    .join('\n');
}
