/** A server that `mcpx add` can write: its entry, and what has to be written with it. */
import type { Secret } from '../client-config/literal-secrets.ts';
import type { JsonRecord } from '../config/json-data.ts';

export interface PlannedServer {
  name: string;
  entry: JsonRecord;
  /** Values for the secrets file. */
  secrets: Secret[];
  /** Sentences for the user. */
  notes: string[];
  /** Facts for `--json`, such as the digest of a bundle. */
  facts: JsonRecord;
  /** Removes what the plan has put on the disk, if the config cannot be written. */
  discard?(): void;
}
