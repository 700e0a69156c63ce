/** The config that a first run writes: it has no servers, and examples to uncomment. */

export const STARTER = `{
  // The MCP servers that mcpx puts behind its two tools. Any client's "mcpServers" can be pasted here unchanged.
  // After a change: mcpx config validate
  "$schema": "./mcpx.schema.json",
  "mcpServers": {
    // "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "\${userHome}/projects"] },
    // "github": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" } },
    // "time": { "type": "builtin" },
  },

  // Named sets of servers with their own rules. Without this key, the profile "default" has all servers.
  // "profiles": { "default": { "servers": ["*"] }, "readonly": { "servers": ["filesystem"], "tools": { "deny": ["filesystem.write_*"] } } },

  // Where "mcpx serve --http" listens.
  // "http": { "host": "127.0.0.1", "port": 3095 },

  // What clients see: two tools ("compact") or every tool ("aggregate").
  // "front": { "kind": "compact" },
}
`;
