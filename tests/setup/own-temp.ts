/** All temporary files of a run are in one folder, which is removed at its end, whatever a test leaves in it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where the systems look for the folder of temporary files. */
const NAMES = ['TMPDIR', 'TMP', 'TEMP'];

export default function ownTemp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-t-'));
  for (const name of NAMES) process.env[name] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
