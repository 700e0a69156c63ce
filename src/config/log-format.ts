/** The format of the log in a config that cannot be loaded, so that its errors are written in this format too. */
import { readIfPresent } from '../files.ts';
import { environmentOf } from './environment.ts';
import { configFiles } from './paths.ts';

/** Matches the setting in text that may not be valid JSON. */
const JSON_FORMAT = /"log"\s*:\s*\{[^{}]*"format"\s*:\s*"json"/;
const COMMENT_LINES = /^\s*\/\/.*$/gm;

/** True if one of the config files asks for JSON. `named` are the files of `--config`. */
export function asksForJson(named: readonly string[]): boolean {
  return configFiles(named, environmentOf()).files.some((file) => {
    try {
      return JSON_FORMAT.test((readIfPresent(file) ?? '').replace(COMMENT_LINES, ''));
    } catch {
      // The error of the config itself says that the file cannot be read.
      return false;
    }
  });
}
