/** Moves HOME, XDG and MCPX_* to a throw-away folder before any test module loads, so that no test sees or touches real files; no proxy, language or build server either. `MCPX_CATALOGS` is for the tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const home = mkdtempSync(join(tmpdir(), 'mcpx-home-'));

for (const name of Object.keys(process.env)) {
  if (/^(MCPX_(?!CATALOGS$)|XDG_|(https?|all|no)_proxy$|LANG$|LC_|CI$)/i.test(name)) delete process.env[name];
}
Object.assign(process.env, {
  HOME: home,
  USERPROFILE: home,
  APPDATA: join(home, 'AppData', 'Roaming'),
  LOCALAPPDATA: join(home, 'AppData', 'Local'),
  XDG_CONFIG_HOME: join(home, '.config'),
  XDG_CACHE_HOME: join(home, '.cache'),
  XDG_DATA_HOME: join(home, '.local', 'share'),
  NO_COLOR: '1',
});

afterAll(() => rmSync(home, { recursive: true, force: true }));
