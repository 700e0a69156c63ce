/** Removes the secrets of a server from the audit records of its calls. */
import type { Config, ServerSpec } from '../config/config.ts';
import type { CallRecord } from '../observe/observer.ts';
import { type Redactor, redactorOf } from '../upstream/secret-redactor.ts';

/** `config` returns the current config. A changed server gets a new redactor. */
export function createCallRedactor(config: () => Config): (call: CallRecord, json: string) => string {
  const redactors = new WeakMap<ServerSpec, Redactor>();
  return ({ profile, server }, json) => {
    const { servers = [] } = config().profiles.find(({ name }) => name === profile) ?? {};
    const spec = servers.find(({ name }) => name === server);
    if (spec === undefined) return json;
    const redactor = redactors.get(spec) ?? redactorOf(spec);
    redactors.set(spec, redactor);
    return redactor.text(json);
  };
}
