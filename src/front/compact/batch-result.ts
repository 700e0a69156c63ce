/** Merges the results of a batch into one result: each block follows the number of its call. */
import { cut, oneLine } from '../../render/text.ts';
import { followingBlock } from '../../render/text-block.ts';
import type { ToolResult } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { Batch, Outcome } from './batch.ts';
import { isText } from './result-values.ts';

/** Maximum characters of an element in the line of its call. */
const MAX_ITEM = 80;

/** One line and what follows it; without a result the call was not run. */
interface Slot {
  head: string;
  result?: ToolResult | undefined;
  note?: string;
}

/**
 * `isError` is set if no call worked. The structured content is as complete as the text: a result without structured
 * content appears as text.
 */
export function mergedResult({ calls }: Batch, outcomes: Outcome<ToolResult>[], structured: boolean): ToolResult {
  const slots = outcomes.flatMap((outcome, index) => slotsOf(calls[index] ?? {}, outcome, index));
  const content: unknown[] = [];
  for (const { head, result, note } of slots) append(content, { head, result, note: note ?? '' });
  const results = outcomes.map((outcome) => structuredSlot(outcome));
  const isTelling = structured && slots.some(({ result }) => result?.structuredContent !== undefined);
  const isFailed = slots.every(({ result, note }) => (result === undefined ? note !== EMPTY : result.isError === true));
  return { content, ...(isFailed && { isError: true }), ...(isTelling && { structuredContent: { results } }) };
}

const EMPTY = 'the list is empty';

function slotsOf(call: Params, outcome: Outcome<ToolResult>, index: number): Slot[] {
  const name = nameOf(call);
  if ('skippedAfter' in outcome) {
    const { skippedAfter } = outcome;
    const hint = skippedAfter + 1 === index ? '; "onError": "continue" runs the rest' : '';
    return [{ head: `[${index}] ${name} not run`, note: `call ${skippedAfter} failed${hint}` }];
  }
  if ('shown' in outcome) return [{ head: headOf(`[${index}] ${name}`, outcome.shown), result: outcome.shown }];
  if (outcome.elements.length === 0) return [{ head: `[${index}] ${name}`, note: EMPTY }];
  return outcome.elements.map(({ item, shown }, at) => {
    const start = `[${index}.${at}] ${name} ${cut(oneLine(JSON.stringify(item) ?? 'null'), MAX_ITEM)}`;
    if (shown === undefined) return { head: `${start} not run`, note: 'an element before it failed' };
    return { head: headOf(start, shown), result: shown };
  });
}

function headOf(start: string, { isError }: ToolResult): string {
  return isError === true ? `${start} failed` : start;
}

function append(content: unknown[], { head, result, note }: Slot & { note: string }): void {
  const blocks = result?.content ?? [];
  const [first, ...rest] = blocks;
  if (note !== '') content.push(followingBlock(content, `${head}: ${note}`));
  else if (isText(first)) content.push({ ...first, ...followingBlock(content, `${head}\n${first.text}`) }, ...rest);
  else content.push(followingBlock(content, head), ...blocks);
}

function structuredSlot(outcome: Outcome<ToolResult>): Params {
  if ('skippedAfter' in outcome) return { text: `not run: call ${outcome.skippedAfter} failed`, isError: true };
  if ('shown' in outcome) return partOf(outcome.shown);
  return {
    results: outcome.elements.map(({ shown }) =>
      shown === undefined ? { text: 'not run', isError: true } : partOf(shown),
    ),
  };
}

function partOf({ structuredContent, content = [], isError }: ToolResult): Params {
  const text = content.filter(isText).map((block) => block.text);
  return {
    ...(structuredContent === undefined ? { text: text.join('\n') } : { structuredContent }),
    ...(isError === true && { isError }),
  };
}

function nameOf({ server_name, tool_name, tool, method }: Params): string {
  const names = [server_name, tool_name ?? tool ?? method].filter((name) => typeof name === 'string' && name !== '');
  return names.join('.');
}
