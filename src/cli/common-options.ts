/** Options that several commands share. */
import type { Option } from './command.ts';

export const CONFIG: Option = {
  flags: '-c, --config <file>',
  doc: 'config file (default ~/.mcpx/config.json); may be repeated',
};
export const PROFILE: Option = {
  flags: '--profile <name>',
  doc: 'profile to use (default: "default", else the first enabled one)',
};
export const JSON_OUT: Option = { flags: '--json', doc: 'print JSON' };
export const YES: Option = { flags: '-y, --yes', doc: 'make the changes without a question' };
export const PRINT: Option = { flags: '--print', doc: 'show the changes and make none' };
export const MOVE_SECRETS: Option = {
  flags: '--move-secrets',
  doc: 'put literal secrets of imported servers into ~/.mcpx/secrets.env',
};
export const STRICT: Option = { flags: '--strict', doc: 'treat unknown keys in the config as errors' };
