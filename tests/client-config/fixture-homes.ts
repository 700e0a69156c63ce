/** Homes with the config file of each client, as Linux, macOS and Windows have it; written down independently of the table of clients. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ClientWorld } from '../../src/client-config/client-places.ts';
import type { ClientId } from '../../src/client-config/client-table.ts';

export type System = 'linux' | 'darwin' | 'win32';
export const SYSTEMS: System[] = ['linux', 'darwin', 'win32'];

/** The folder in which applications keep their data, below the home. */
const APPS = { linux: '.config', darwin: 'Library/Application Support', win32: 'AppData/Roaming' } as const;

const everywhere = (file: string) => ({ linux: file, darwin: file, win32: file });
const inApps = (file: string) => ({
  linux: `${APPS.linux}/${file}`,
  darwin: `${APPS.darwin}/${file}`,
  win32: `${APPS.win32}/${file}`,
});

/** JSON with comments and odd indentation. Some clients write only the plain form, and read this one. */
const json = (key: string, files: string, web: string, more = '') => `{
   // mine
   "other": { "keep": [1,  2] },${more}
   "${key}": {
        "files": ${files}, // the first
        /* the second */
        "web": ${web}
   }
}
`;

const FILES = '{ "command": "npx", "args": ["-y",  "@x/files", "/data"], "env": { "LEVEL": "debug" } }';
const WEB = '{ "url": "https://web.example/mcp" }';
const HTTP = '{ "type": "http", "url": "https://web.example/mcp" }';
const LOCAL = '{ "type": "local", "command": ["npx", "-y", "@x/files", "/data"], "environment": { "LEVEL": "debug" } }';
const REMOTE = '{ "type": "remote", "url": "https://web.example/mcp" }';

const toml = `# mine
other = { keep = [1,  2] }

[mcp_servers.files] # the first
  command = "npx"
  args = ["-y",  "@x/files", "/data"]
  [mcp_servers.files.env]
  LEVEL = 'debug'

# the second
[mcp_servers.web]
url = "https://web.example/mcp"
`;

const goose = `# mine
other: {keep: [1,  2]}
extensions:
     files:   # the first
          type: stdio
          cmd: npx
          args: [-y,  "@x/files", /data]
          envs: { LEVEL: debug }
          enabled: true
     # the second
     web:
          type: streamable_http
          uri: https://web.example/mcp
          enabled: true
`;

const continues = `# mine
other: {keep: [1,  2]}
mcpServers:
   - name: files   # the first
     command: npx
     args: [-y,  "@x/files", /data]
     env:
       LEVEL: debug
   # the second
   - name: web
     url: https://web.example/mcp
`;

/** The file of each client and its text. */
export const FIXTURES: Record<ClientId, { file: Record<System, string>; text: string }> = {
  'claude-desktop': { file: inApps('Claude/claude_desktop_config.json'), text: json('mcpServers', FILES, WEB) },
  'claude-code': { file: everywhere('.claude.json'), text: json('mcpServers', FILES, HTTP) },
  cursor: { file: everywhere('.cursor/mcp.json'), text: json('mcpServers', FILES, WEB) },
  vscode: { file: inApps('Code/User/mcp.json'), text: json('servers', FILES, HTTP, '\n   "inputs": [],') },
  windsurf: {
    file: everywhere('.codeium/windsurf/mcp_config.json'),
    text: json('mcpServers', FILES, '{ "serverUrl": "https://web.example/mcp" }'),
  },
  zed: {
    file: {
      linux: '.config/zed/settings.json',
      darwin: '.config/zed/settings.json',
      win32: `${APPS.win32}/Zed/settings.json`,
    },
    text: json('context_servers', FILES, WEB),
  },
  cline: {
    file: inApps('Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'),
    text: json('mcpServers', FILES, '{ "type": "streamableHttp", "url": "https://web.example/mcp", "timeout": 60 }'),
  },
  'cline-cli': {
    file: everywhere('.cline/data/settings/cline_mcp_settings.json'),
    text: json('mcpServers', FILES, '{ "type": "streamableHttp", "url": "https://web.example/mcp" }'),
  },
  roo: {
    file: inApps('Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json'),
    text: json('mcpServers', FILES, '{ "type": "streamable-http", "url": "https://web.example/mcp" }'),
  },
  kilo: { file: everywhere('.config/kilo/kilo.jsonc'), text: json('mcp', LOCAL, REMOTE) },
  'gemini-cli': {
    file: everywhere('.gemini/settings.json'),
    text: json('mcpServers', FILES, '{ "httpUrl": "https://web.example/mcp" }'),
  },
  antigravity: {
    file: everywhere('.gemini/config/mcp_config.json'),
    text: json('mcpServers', FILES, '{ "serverUrl": "https://web.example/mcp" }'),
  },
  codex: { file: everywhere('.codex/config.toml'), text: toml },
  opencode: { file: everywhere('.config/opencode/opencode.json'), text: json('mcp', LOCAL, REMOTE) },
  goose: {
    file: {
      linux: '.config/goose/config.yaml',
      darwin: '.config/goose/config.yaml',
      win32: `${APPS.win32}/Block/goose/config/config.yaml`,
    },
    text: goose,
  },
  continue: { file: everywhere('.continue/config.yaml'), text: continues },
  warp: { file: everywhere('.warp/.mcp.json'), text: json('mcpServers', FILES, WEB) },
  junie: { file: everywhere('.junie/mcp/mcp.json'), text: json('mcpServers', FILES, WEB) },
  'lm-studio': { file: everywhere('.lmstudio/mcp.json'), text: json('mcpServers', FILES, WEB) },
  amp: { file: everywhere('.config/amp/settings.json'), text: json('amp.mcpServers', FILES, WEB) },
  'copilot-cli': {
    file: everywhere('.copilot/mcp-config.json'),
    text: json('mcpServers', FILES.replace('{', '{ "type": "local", "tools": ["*"],'), HTTP),
  },
  kiro: { file: everywhere('.kiro/settings/mcp.json'), text: json('mcpServers', FILES, WEB) },
  'kimi-code': {
    file: everywhere('.kimi-code/mcp.json'),
    text: json('mcpServers', FILES, '{ "transport": "http", "url": "https://web.example/mcp" }'),
  },
  grok: { file: everywhere('.grok/config.toml'), text: toml },
  mcporter: {
    file: everywhere('.mcporter/mcporter.json'),
    text: json('mcpServers', FILES, '{ "baseUrl": "https://web.example/mcp" }'),
  },
  generic: { file: everywhere('.config/mcp/mcp.json'), text: json('mcpServers', FILES, WEB) },
};

export interface FixtureHome {
  world: ClientWorld;
  /** The folder of mcpx. */
  own: string;
  write(path: string, content: string | Buffer): string;
}

/** Returns an empty home in the layout of a system, which is gone after the test. */
export function makeFixtureHome(layout: System = 'linux', env: Record<string, string> = {}): FixtureHome {
  const root = mkdtempSync(join(tmpdir(), 'mcpx-fixture-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, cwd] = [join(root, 'home'), join(root, 'work')];
  for (const folder of [home, cwd]) mkdirSync(folder);
  const folders = { APPDATA: join(home, APPS.win32), LOCALAPPDATA: join(home, 'AppData/Local') };
  const world = { env: { ...(layout === 'win32' && folders), ...env }, home, cwd, platform: process.platform, layout };
  return {
    world,
    own: join(home, '.mcpx'),
    write(path, content) {
      const file = join(home, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
  };
}
