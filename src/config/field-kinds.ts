/** The kinds of fields of the config file, and short functions that define a field of each kind. */

export type Fields = Readonly<Record<string, Field>>;

interface Common {
  doc?: string;
  nullable?: true;
}

export type Field = Common &
  (
    | { kind: 'string' | 'boolean' }
    /** Text; a number or a boolean is converted to text. */
    | { kind: 'scalar' }
    | { kind: 'integer'; min: number; max?: number }
    /** A number greater than zero. */
    | { kind: 'number' }
    /** A duration, which the reader converts to ms. */
    | { kind: 'duration'; min: number }
    /** A size, which the reader converts to bytes. */
    | { kind: 'size'; min: number }
    | { kind: 'enum'; values: readonly string[] }
    /** A list. With `single`, one value is accepted as a list of one. */
    | { kind: 'list'; of: Field; single?: true }
    | { kind: 'map'; of: Field }
    /** Either one of `values` or a list of strings. */
    | { kind: 'enum-or-list'; values: readonly string[] }
    | { kind: 'group'; fields: Fields; required?: readonly string[]; name?: string }
    /** An object whose keys are not checked. */
    | { kind: 'open' }
    /** Servers and profiles. `src/config/normalize.ts` reads them; this table only describes them for the JSON Schema. */
    | { kind: 'servers' | 'profiles' }
  );

type Options = Common & { single?: true };

export const text = (doc: string, options: Options = {}): Field => ({ kind: 'string', doc, ...options });
export const flag = (doc: string): Field => ({ kind: 'boolean', doc });
export const whole = (doc: string, min = 0, max?: number): Field => ({
  kind: 'integer',
  doc,
  min,
  ...(max ? { max } : {}),
});
export const duration = (doc: string, min = 1): Field => ({ kind: 'duration', doc, min });
export const size = (doc: string, min = 1): Field => ({ kind: 'size', doc, min });
export const choice = (doc: string, ...values: string[]): Field => ({ kind: 'enum', doc, values });
export const texts = (doc: string, options: Options = {}): Field => ({
  kind: 'list',
  of: { kind: 'string' },
  doc,
  ...options,
});
export const group = (doc: string, fields: Fields): Field => ({ kind: 'group', doc, fields });

const filter = (things: string): Field => ({
  ...group(`Which ${things} are offered.`, {
    allow: texts(`Globs; only ${things} that match one of them are offered. Absent: all.`),
    deny: texts(`Globs; ${things} that match one of them are never offered. Deny wins over allow.`),
  }),
});

/** The filters of servers, profiles and tokens. */
export const FILTERS = { tools: filter('tools'), resources: filter('resources'), prompts: filter('prompts') };
