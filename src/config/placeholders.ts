/** Expands `${VAR}` and similar placeholders in config values, in one pass: not nested, and not in keys. */

/** Every recognised form; `$${` is a literal `${`. */
const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}|\$env:([A-Za-z_]\w*)|\{(env|file):([^{}]+)\}/g;

/** The sources of values for placeholders. */
export interface Values {
  variable(name: string): string | undefined;
  input(id: string): string | undefined;
  /** Returns the text of a file, or undefined if it cannot be read. */
  file(path: string): string | undefined;
  /** Predefined names such as `userHome` and `workspaceFolder`. */
  named: ReadonlyMap<string, string>;
}

/** A placeholder without a value, and the kind of its source. */
export interface Gap {
  kind: 'variable' | 'input' | 'file' | 'unsupported';
  /** The variable, the input's id, the path, or the placeholder as written. */
  name: string;
}

export interface Expanded {
  /** The expanded text; placeholders without a value stay as written. */
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

/** True if a text contains a placeholder. */
export function hasPlaceholder(text: string): boolean {
  return text.search(PLACEHOLDER) >= 0;
}

/** Returns the placeholders of a text, as written. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([written]) => written).filter((written) => written !== '$${');
}

/** Replaces every placeholder; `fallback` is the default value after `:-`. */
export function mapPlaceholders(
  text: string,
  change: (written: string, fallback: string | undefined) => string,
): string {
  return text.replace(PLACEHOLDER, (written: string) => {
    if (written === '$${') return written;
    return change(written, /:-([^}]+)\}$/.exec(written)?.[1]);
  });
}

/** Forms for which other clients run a program or ask a secret store while they read a file. mcpx does not. */
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

/** A variable name with an optional default. Other text in `${…}` stays as written. Some names on Windows end in `(x86)`. */
const BARE = /^([A-Za-z_]\w*(?:\(x86\))?)(?::-([\s\S]*))?$/;

function variable(text: string, form: RegExp, written: string, values: Values): string | Gap {
  const [, name, fallback] = form.exec(text) ?? [];
  if (name === undefined) return written;
  const value = values.variable(name);
  if (value !== undefined && (value !== '' || fallback === undefined)) return value;
  return fallback ?? { kind: 'variable', name };
}
