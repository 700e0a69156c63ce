/** `mcpx stats`: prints the saved tokens over all runs and processes of this user. */
import { describeSavings, readTotals, type Savings } from '../observe/savings-totals.ts';
import type { Invocation } from './command.ts';
import { ledgerFile } from './command-app.ts';
import { paintAnswer, print, printJson, table } from './output.ts';
import { status } from './status-lines.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const file = ledgerFile();
  const totals = readTotals(file);
  if (totals === undefined)
    status.info('nothing has been counted yet; `mcpx serve` counts unless "stats" is false in the config');
  const savings = totals && describeSavings(totals);
  if (flags.has('json')) await printJson(savings ?? null);
  else if (savings !== undefined) await print(report(savings, file));
  return 0;
}

function report({ since, menus, calls, reencoded, lookups, tokens, method }: Savings, file: string): string {
  const line = `≈ ${grouped(tokens.net)} tokens saved since ${since.slice(0, 10)}`;
  const rows = [
    ['lists of tools', signed(tokens.menus), `${plural(menus, 'client')} read the menu instead of every definition`],
    ['results', signed(tokens.results), `${reencoded} of ${plural(calls, 'call')} with a shorter result`],
    ['lookups', signed(tokens.lookups), `${plural(lookups, 'result')} of inspect`],
  ];
  return [paintAnswer('bold', line), '', table(rows), '', `${method}; stored in ${file}`].join('\n');
}

function plural(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function signed(tokens: number): string {
  return `${tokens < 0 ? '-' : '+'}${grouped(Math.abs(tokens))}`;
}

function grouped(value: number): string {
  return value.toLocaleString('en-US');
}
