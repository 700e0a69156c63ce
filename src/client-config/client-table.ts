/** The table of MCP clients: the files in which each keeps its servers, and the form of an entry. */
import type { ClientRow, FullRow, Installation } from './client-row.ts';

const CONFIG = '${XDG_CONFIG_HOME:-~/.config}';

/** Programs that run extensions of VS Code, with the folder of their settings. */
const HOSTS = ['Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf'];

const extension = (id: string, file: string): Installation[] =>
  HOSTS.map((host) => {
    const folder = `{userData}/${host}/User/globalStorage/${id}`;
    return { files: [`${folder}/settings/${file}`], folder };
  });

const one = (...files: string[]): Installation[] => [{ files }];
const within = (folder: string, ...files: string[]): Installation[] => [
  { files: files.map((file) => `${folder}/${file}`), folder },
];
const jsonc = (path: string): string[] => [`${path}.json`, `${path}.jsonc`];

export const CLIENT_TABLE = {
  'claude-desktop': {
    title: 'Claude Desktop',
    user: {
      linux: one('{userData}/Claude/claude_desktop_config.json'),
      darwin: one('{userData}/Claude/claude_desktop_config.json'),
      win32: [
        // Installed from the Microsoft Store, the program sees a copy of the folder.
        ...one('%LOCALAPPDATA%/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json'),
        ...one('{userData}/Claude/claude_desktop_config.json'),
      ],
    },
    processes: ['Claude'],
  },
  'claude-code': {
    title: 'Claude Code',
    user: [{ files: ['${CLAUDE_CONFIG_DIR:-~}/.claude.json'], folder: '${CLAUDE_CONFIG_DIR:-~/.claude}' }],
    project: ['.mcp.json'],
    beside: ['projects'],
    form: 'always-loaded',
    processes: ['claude'],
    reload: 'session',
  },
  cursor: {
    title: 'Cursor',
    user: one('~/.cursor/mcp.json'),
    project: ['.cursor/mcp.json'],
    processes: ['Cursor', 'cursor'],
  },
  vscode: {
    title: 'VS Code',
    user: HOSTS.slice(0, 3).flatMap((host) => one(`{userData}/${host}/User/mcp.json`)),
    more: HOSTS.slice(0, 3).map((host) => `{userData}/${host}/User/profiles/*/mcp.json`),
    project: ['.vscode/mcp.json'],
    container: ['servers'],
    beside: ['inputs'],
    form: 'typed',
    processes: ['Code', 'code', 'Code - Insiders', 'code-insiders', 'codium'],
  },
  windsurf: {
    title: 'Windsurf',
    user: [...one('~/.codeium/windsurf/mcp_config.json'), { files: ['~/.codeium/mcp_config.json'], folder: null }],
    processes: ['Windsurf', 'windsurf'],
  },
  zed: {
    title: 'Zed',
    user: {
      linux: one(`${CONFIG}/zed/settings.json`),
      darwin: one('~/.config/zed/settings.json'),
      win32: one('{userData}/Zed/settings.json'),
    },
    project: ['.zed/settings.json'],
    container: ['context_servers'],
    form: 'zed',
    processes: ['Zed', 'zed', 'zed-editor'],
  },
  cline: {
    title: 'Cline (VS Code)',
    user: extension('saoudrizwan.claude-dev', 'cline_mcp_settings.json'),
    dialect: { seconds: true, bareUrl: 'sse' },
    processes: ['Code', 'code'],
  },
  'cline-cli': {
    title: 'Cline CLI',
    user: within('${CLINE_DIR:-~/.cline}', 'data/settings/cline_mcp_settings.json'),
    dialect: { seconds: true, bareUrl: 'sse' },
    processes: ['cline'],
    reload: 'session',
  },
  roo: {
    title: 'Roo Code',
    user: extension('rooveterinaryinc.roo-cline', 'mcp_settings.json'),
    project: ['.roo/mcp.json'],
    dialect: { seconds: true },
    processes: ['Code', 'code'],
  },
  kilo: {
    title: 'Kilo Code',
    user: within('~/.config/kilo', ...jsonc('kilo')),
    project: [...jsonc('kilo'), ...jsonc('.kilo/kilo'), ...jsonc('.kilocode/kilo')],
    container: ['mcp'],
    form: 'local-list',
    processes: ['kilo'],
    reload: 'session',
  },
  'gemini-cli': {
    title: 'Gemini CLI',
    user: one('~/.gemini/settings.json'),
    project: ['.gemini/settings.json'],
    beside: ['mcp'],
    dialect: { bareUrl: 'sse', dollar: true },
    processes: ['gemini'],
    reload: 'session',
  },
  antigravity: {
    title: 'Antigravity',
    user: [{ files: ['~/.gemini/config/mcp_config.json', '~/.gemini/antigravity/mcp_config.json'] }],
    processes: ['Antigravity', 'antigravity'],
  },
  codex: {
    title: 'Codex',
    user: one('${CODEX_HOME:-~/.codex}/config.toml'),
    project: ['.codex/config.toml'],
    container: ['mcp_servers'],
    processes: ['codex'],
    reload: 'session',
  },
  opencode: {
    title: 'OpenCode',
    user: {
      linux: within(`${CONFIG}/opencode`, ...jsonc('opencode')),
      darwin: within(`${CONFIG}/opencode`, ...jsonc('opencode')),
      win32: [CONFIG, '%LOCALAPPDATA%', '%APPDATA%'].flatMap((base) =>
        within(`${base}/opencode`, ...jsonc('opencode')),
      ),
    },
    project: [...jsonc('opencode'), ...jsonc('.opencode/opencode')],
    container: ['mcp'],
    form: 'local-list',
    processes: ['opencode'],
    reload: 'session',
  },
  goose: {
    title: 'Goose',
    user: {
      linux: one(`${CONFIG}/goose/config.yaml`),
      darwin: one(`${CONFIG}/goose/config.yaml`),
      win32: one('%APPDATA%/Block/goose/config/config.yaml'),
    },
    container: ['extensions'],
    form: 'goose',
    processes: ['goose', 'Goose', 'goosed'],
    reload: 'session',
  },
  continue: {
    title: 'Continue',
    // A config.yaml that mcpx made would hide the default models, so the entry becomes a file of its own then.
    user: [{ files: ['~/.continue/mcpServers/mcpx.json', '~/.continue/config.yaml'], folder: '~/.continue' }],
    more: [
      '~/.continue/config.yaml',
      '~/.continue/mcpServers/*.yaml',
      '~/.continue/mcpServers/*.yml',
      '~/.continue/mcpServers/*.json',
    ],
    project: ['.continue/mcpServers/mcpx.json'],
    list: 'yaml',
    processes: ['Code', 'code'],
  },
  warp: {
    title: 'Warp',
    user: one('~/.warp/.mcp.json'),
    project: ['.warp/.mcp.json'],
    processes: ['Warp', 'warp', 'warp-terminal'],
  },
  junie: {
    title: 'Junie',
    user: within('~/.junie', 'mcp/mcp.json'),
    project: ['.junie/mcp/mcp.json'],
    processes: ['idea', 'pycharm', 'webstorm', 'goland', 'junie'],
  },
  'lm-studio': {
    title: 'LM Studio',
    user: {
      linux: one('~/.lmstudio/mcp.json'),
      darwin: one('~/.lmstudio/mcp.json', '~/.cache/lm-studio/mcp.json'),
      win32: one('~/.lmstudio/mcp.json'),
    },
    processes: ['LM Studio', 'lm-studio'],
  },
  amp: {
    title: 'Amp',
    user: within(`${CONFIG}/amp`, ...jsonc('settings')),
    project: jsonc('.amp/settings'),
    container: ['amp.mcpServers'],
    processes: ['amp'],
    reload: 'session',
  },
  'copilot-cli': {
    title: 'Copilot CLI',
    user: one(
      '${COPILOT_HOME}/mcp-config.json',
      '~/.copilot/mcp-config.json',
      '${XDG_CONFIG_HOME}/.copilot/mcp-config.json',
    ),
    project: ['.mcp.json', '.github/mcp.json'],
    bare: true,
    form: 'local-tools',
    processes: ['copilot'],
    reload: 'session',
  },
  kiro: {
    title: 'Kiro',
    user: within('~/.kiro', 'settings/mcp.json'),
    project: ['.kiro/settings/mcp.json'],
    processes: ['Kiro', 'kiro', 'kiro-cli'],
  },
  'kimi-code': {
    title: 'Kimi Code',
    user: one('${KIMI_CODE_HOME:-~/.kimi-code}/mcp.json'),
    project: ['.kimi-code/mcp.json'],
    form: 'transport',
    processes: ['kimi'],
    reload: 'session',
  },
  grok: {
    title: 'Grok Build',
    user: one('${GROK_HOME:-~/.grok}/config.toml'),
    project: ['.grok/config.toml'],
    container: ['mcp_servers'],
    processes: ['grok'],
    reload: 'session',
  },
  mcporter: {
    title: 'mcporter',
    user: within('~/.mcporter', ...jsonc('mcporter')),
    project: ['config/mcporter.json'],
    processes: ['mcporter'],
    reload: 'session',
  },
  generic: {
    title: 'the shared file of home-manager',
    user: one(`${CONFIG}/mcp/mcp.json`),
    processes: [],
    reload: 'session',
  },
} as const satisfies Record<string, ClientRow>;

export type ClientId = keyof typeof CLIENT_TABLE;

export const CLIENT_IDS = Object.keys(CLIENT_TABLE) as ClientId[];

const DEFAULTS: Pick<FullRow, 'container' | 'form' | 'reload'> = {
  container: ['mcpServers'],
  form: 'plain',
  reload: 'restart',
};

/** Returns the row of a client with the fields that most clients share. */
export function rowOf(id: ClientId): FullRow {
  return { ...DEFAULTS, ...CLIENT_TABLE[id] };
}

/** Returns the client that a person names by its id or its title. */
export function clientNamed(name: string): ClientId | undefined {
  const key = (text: string) => text.toLowerCase().replace(/[^a-z]/g, '');
  return CLIENT_IDS.find((id) => key(id) === key(name) || key(rowOf(id).title) === key(name));
}
