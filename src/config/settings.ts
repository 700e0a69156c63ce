/** Reads all settings of a file except servers and profiles: our own sections, and settings under other clients' names. */
import { messageOf } from '../errors.ts';
import type { Place, Settings, TokenRights } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { absolutePath, type Environment, pathsOf } from './environment.ts';
import { expandText } from './expander.ts';
import { SETTINGS } from './fields.ts';
import { NOT_CARRIED, RENAMED } from './foreign-settings.ts';
import type { GatewayOAuth } from './gateway-oauth.ts';
import { inside, isRecord, type JsonRecord, own, type Path } from './json-data.ts';
import { readField, readFields } from './validate.ts';

/** The settings that a file sets. In a merge, sections are merged; lists and values are replaced. */
export type PartialSettings = {
  [S in keyof Settings]?: Settings[S] extends JsonRecord ? Partial<Settings[S]> : Settings[S];
};

export interface SettingsContext {
  file: string;
  findings: Diagnostics;
  world: Environment;
}

/** Reads the settings of a document. Our own name of a setting wins over another client's name. */
export function readSettings(document: JsonRecord, { file, findings, world }: SettingsContext): PartialSettings {
  const root: Place = { file, path: [] };
  const settings = readRenamed(document, root, findings);
  for (const [section, value] of Object.entries(readFields(SETTINGS, document, root, findings))) {
    const before = own(settings, section);
    settings[section] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value;
  }
  for (const { path, instead } of NOT_CARRIED) {
    if (valueAt(document, path) === undefined) continue;
    const message = `"${path.join('.')}" is ignored`;
    findings.warn({ message, place: inside(root, ...path), part: 'key', hint: `write ${instead}` });
  }
  // The cast is safe: the table that read every value is typed by Settings.
  const read = settings as PartialSettings;
  return { ...read, ...completeHttp(read.http, root), ...filesOf(read, { file, findings, world }) };
}

function readRenamed(document: JsonRecord, root: Place, findings: Diagnostics): JsonRecord {
  const settings: JsonRecord = {};
  for (const { path, to, field, seconds, convert } of RENAMED) {
    const written = valueAt(document, path);
    if (written === undefined) continue;
    const value = readField(
      field,
      seconds && typeof written === 'number' ? written * 1000 : written,
      inside(root, ...path),
      findings,
    );
    const section = own(settings, to[0]);
    if (value !== undefined)
      settings[to[0]] = { ...(isRecord(section) ? section : {}), [to[1]]: convert?.(value) ?? value };
  }
  return settings;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? own(inner, String(key)) : undefined), value);
}

const NO_RIGHTS = { tools: {}, resources: {}, prompts: {}, admin: false } satisfies TokenRights;

/** Adds the default fields to each token and each rule of access tokens, and the place at which they are written. */
function completeHttp(http: PartialSettings['http'], root: Place): Pick<PartialSettings, 'http'> {
  if (http?.auth === undefined) return {};
  // A file may leave out each of both, although the type of complete settings has them.
  const { tokens, oauth }: Partial<Settings['http']['auth']> = http.auth;
  const complete = tokens?.map((token, index) => ({
    ...NO_RIGHTS,
    ...token,
    place: inside(root, 'http', 'auth', 'tokens', index),
  }));
  const auth = {
    ...(complete && { tokens: complete }),
    ...(oauth && { oauth: completeOAuth(oauth, inside(root, 'http', 'auth', 'oauth')) }),
  };
  // The cast is safe: the merge adds what the file leaves out.
  return { http: { ...http, auth: auth as Settings['http']['auth'] } };
}

function completeOAuth(oauth: GatewayOAuth, place: Place): GatewayOAuth {
  const { mode, rules, url }: Partial<GatewayOAuth> = oauth;
  return {
    ...oauth,
    ...(rules && { rules: rules.map((rule) => ({ ...NO_RIGHTS, ...rule })) }),
    ...(url && { url: url.replace(/\/+$/, '') }),
    ...(mode && mode !== 'off' && { place }),
  };
}

/** Makes the paths of the log and the audit log absolute, relative to the folder of the file. */
function filesOf(settings: PartialSettings, context: SettingsContext): PartialSettings {
  const { log, audit } = settings;
  return {
    ...(typeof log?.file === 'string' ? { log: { ...log, file: settlePath(log.file, 'log', context) } } : {}),
    ...(typeof audit?.file === 'string' ? { audit: { ...audit, file: settlePath(audit.file, 'audit', context) } } : {}),
  };
}

function settlePath(written: string, section: string, { file, findings, world }: SettingsContext): string {
  const folder = pathsOf(world).dirname(file);
  try {
    return absolutePath(expandText(written, { subject: `"${section}.file"`, folder, world }), folder, world);
  } catch (error) {
    findings.error({ message: messageOf(error), place: { file, path: [section, 'file'] } });
    return written;
  }
}
