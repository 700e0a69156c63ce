/** Exits 0 when V8 accepts a code cache for a script, 1 when it rejects it. Run under the Node that will be embedded. */
import { readFileSync } from 'node:fs';
import { Script } from 'node:vm';

const [, , app, cache] = process.argv;
const script = new Script(readFileSync(app, 'latin1'), { filename: 'mcpx:app.js', cachedData: readFileSync(cache) });
process.exitCode = script.cachedDataRejected ? 1 : 0;
