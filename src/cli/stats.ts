/** `mcpx stats`: what mcpx has saved since it began to count, over all runs and processes of this user. */
import { describeSavings, readTotals, type Savings } from '../observe/ledger.ts';
import type { Invocation } from './command.ts';
import { note, paintAnswer, print, printJson, table } from './output.ts';
import { ledgerFile } from './session.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const file = ledgerFile();
  const totals = readTotals(file);
  if (totals === undefined)
    note('nothing has been counted yet; `mcpx serve` counts unless "stats" is false in the config');
  const savings = totals && describeSavings(totals);
  if (flags.has('json')) await printJson(savings ?? null);
  else if (savings !== undefined) await print(report(savings, file));
  return 0;
}

function report({ since, menus, calls, reencoded, lookups, tokens, method }: Savings, file: string): string {
  const line = `≈ ${grouped(tokens.net)} tokens saved since ${since.slice(0, 10)}`;
  const rows = [
    ['lists of tools', signed(tokens.menus), `${plural(menus, 'client')} read a menu and not every definition`],
    ['results', signed(tokens.results), `${reencoded} written shorter, of ${plural(calls, 'call')}`],
    ['looked up', signed(tokens.lookups), `${plural(lookups, 'answer')} of inspect`],
  ];
  return [paintAnswer('bold', line), '', table(rows), '', `${method}; kept in ${file}`].join('\n');
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
