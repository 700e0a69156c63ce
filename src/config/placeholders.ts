/** `${VAR}` and its relatives inside config values: one pass, never nested, never in keys. */

/** Every form that is recognised; `$${` is a literal `${`. */
const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}|\$env:([A-Za-z_]\w*)|\{(env|file):([^{}]+)\}/g;

/** Where the values come from. */
export interface Values {
  variable(name: string): string | undefined;
  input(id: string): string | undefined;
  /** The text of a file, or undefined when it cannot be read. */
  file(path: string): string | undefined;
  /** `userHome`, `workspaceFolder` and the like. */
  named: ReadonlyMap<string, string>;
}

/** Why a placeholder has no value. */
export interface Gap {
  kind: 'variable' | 'input' | 'file' | 'unsupported';
  /** The variable, the input's id, the path, or the placeholder as written. */
  name: string;
}

export interface Expanded {
  /** With the placeholders that have no value left as they were. */
  text: string;
  gaps: Gap[];
}

export function expand(text: string, values: Values): Expanded {
  const gaps: Gap[] = [];
  const expanded = text.replace(
    PLACEHOLDER,
    (written, body?: string, dollar?: string, kind?: string, rest?: string) => {
      if (written === '$${') return '${';
      const found = lookUp(body ?? (dollar === undefined ? `${kind}:${rest}` : `env:${dollar}`), written, values);
      if (typeof found === 'string') return found;
      gaps.push(found);
      return written;
    },
  );
  return { text: expanded, gaps };
}

/** Whether a text changes when it is expanded. */
export function hasPlaceholder(text: string): boolean {
  return text.search(PLACEHOLDER) >= 0;
}

/** Everything in a text that is filled in, as it is written. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([written]) => written).filter((written) => written !== '$${');
}

/** Puts other text in the place of every placeholder; `fallback` is the default that is written in it. */
export function mapPlaceholders(
  text: string,
  change: (written: string, fallback: string | undefined) => string,
): string {
  return text.replace(PLACEHOLDER, (written: string) => {
    if (written === '$${') return written;
    return change(written, /:-([^}]+)\}$/.exec(written)?.[1]);
  });
}

/** Programs that other clients would run while reading a file; mcpx never does. */
const UNSUPPORTED = /^(\{|cmd:|command:|config:|secrets?[.:]|op:|vault:)|\$\{/;

function lookUp(body: string, written: string, values: Values): string | Gap {
  const named = values.named.get(body);
  if (named !== undefined) return named;
  if (UNSUPPORTED.test(body)) return { kind: 'unsupported', name: written };
  const [, prefix, rest = ''] = /^(?:(env|input|file):)?([\s\S]*)$/.exec(body) ?? [];
  if (prefix === 'file') return values.file(rest) ?? { kind: 'file', name: rest };
  if (prefix === 'input') return values.input(rest) ?? { kind: 'input', name: rest };
  return variable(rest, prefix === 'env' ? /^([^:]+)(?::-([\s\S]*))?$/ : BARE, written, values);
}

/** Anything else in `${…}` is the user's own text; `(x86)` is part of some names on Windows. */
const BARE = /^([A-Za-z_]\w*(?:\(x86\))?)(?::-([\s\S]*))?$/;

function variable(text: string, form: RegExp, written: string, values: Values): string | Gap {
  const [, name, fallback] = form.exec(text) ?? [];
  if (name === undefined) return written;
  const value = values.variable(name);
  if (value !== undefined && (value !== '' || fallback === undefined)) return value;
  return fallback ?? { kind: 'variable', name };
}
