/** No preview shows a secret, in any format and at any place of a file. */
import { expect, test } from 'vitest';
import { maskedText } from '../../src/client-config/masked-text.ts';

const TEXTS = {
  json: `{
  // old: ghp_abcdefghijklmnopqrstuvwxyz0123456789
  "mcpServers": { "a": { "command": "npx", "args": ["--api-key", "key-1234567"], "env": { "PASSWORD": "hunter2-x" }, "headers": { "Authorization": "Bearer tok-12345678" } } }
}
`,
  toml: `# old: ghp_abcdefghijklmnopqrstuvwxyz0123456789
[mcp_servers.a] # hunter2-x
command = "npx"
args = ["--api-key", "key-1234567"]
env = { PASSWORD = 'hunter2-x' }
[mcp_servers.a.http_headers]
Authorization = "Bearer tok-12345678"
`,
  yaml: `extensions: # hunter2-x
  a:
    cmd: npx
    args: [--api-key, key-1234567]
    envs:
      PASSWORD: hunter2-x # ghp_abcdefghijklmnopqrstuvwxyz0123456789
    headers: { Authorization: "Bearer tok-12345678" }
`,
} as const;

test.each(['json', 'toml', 'yaml'] as const)('%s', async (format) => {
  const masked = await maskedText(TEXTS[format], format, 'file');
  for (const secret of ['ghp_', 'key-1234567', 'hunter2-x', 'tok-12345678']) expect(masked).not.toContain(secret);
  for (const plain of ['npx', '--api-key', 'PASSWORD', 'Authorization']) expect(masked).toContain(plain);
  expect(masked.split('\n').length).toBe(TEXTS[format].split('\n').length);
});
