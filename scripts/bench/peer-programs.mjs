/**
 * The programs that `bench:peers` compares. Each entry has the ways that it can do, as `<client>-<server>`, and returns how it is
 * started in front of one server, which is a command or a URL, and the path and the call that reach the tool through it.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { at, readJson } from '../project.mjs';

const ALL = ['stdio-stdio', 'http-stdio', 'http-http', 'stdio-http'];
const LOOPBACK = ['--import', pathToFileURL(at('scripts', 'bench', 'peer-loopback.mjs')).href];
const SERVER = 'load';
const SIZE = { size: 100 };

const plain = { name: 'lines', arguments: SIZE };
const prefixed = { name: `${SERVER}__lines`, arguments: SIZE };

/** The entry of a server in an ordinary config. */
const entryOf = ({ command, args, url }) => (url === undefined ? { command, args } : { url });

function writeJson(folder, name, value) {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(value));
  return file;
}

const configOf = (setup) => writeJson(setup.folder, 'config.json', { mcpServers: { [SERVER]: entryOf(setup.server) } });

const floor = {
  name: 'floor',
  ways: ALL,
  call: prefixed,
  start: ({ node, server: { command, args, url }, port }) => ({
    command: node,
    args: [
      at('scripts', 'bench', 'load-floor.mjs'),
      ...(port ? [`${port}`] : []),
      '--',
      ...(url ? [url] : [command, ...args]),
    ],
  }),
};

function mcpx(front, call) {
  return {
    name: `mcpx ${front}`,
    ways: ALL,
    call,
    start(setup) {
      const listen = setup.port ? ['--http', `127.0.0.1:${setup.port}`] : [];
      return {
        command: setup.executable,
        args: ['serve', configOf(setup), '--front', front, ...listen],
        env: { MCPX_HOME: join(setup.folder, 'home') },
      };
    },
  };
}

export const OWN = [
  floor,
  mcpx('aggregate', prefixed),
  mcpx('compact', { name: 'exec', arguments: { server_name: SERVER, tool_name: 'lines', arguments: SIZE } }),
];

/** Peers on npm; each is installed into a folder of its own. */
export const NPM_PEERS = [
  {
    package: 'mcp-hub-mcp@1.3.1',
    ways: ['stdio-stdio', 'stdio-http'],
    call: { name: 'call-tool', arguments: { serverName: SERVER, toolName: 'lines', toolArgs: SIZE } },
    start: (setup) => ({ args: [setup.at('dist/index.js'), '--config-path', configOf(setup)] }),
  },
  {
    package: 'mcporter@0.12.3',
    ways: ALL,
    call: prefixed,
    start(setup) {
      const server = { ...entryOf(setup.server), lifecycle: 'keep-alive' };
      const config = writeJson(setup.folder, 'mcporter.json', { imports: [], mcpServers: { [SERVER]: server } });
      const listen = setup.port ? ['--http', `${setup.port}`] : ['--stdio'];
      const places = ['XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME'];
      return {
        args: [...LOOPBACK, setup.at('dist/cli.js'), '--config', config, 'serve', ...listen],
        env: Object.fromEntries(places.map((name) => [name, setup.folder])),
      };
    },
  },
  {
    package: 'mcp-proxy@6.7.19',
    ways: ['http-stdio'],
    call: plain,
    start: ({ at: file, server, port }) => ({
      args: [
        ...[file('dist/bin/mcp-proxy.mjs'), '--host', '127.0.0.1', '--port', `${port}`, '--server', 'stream'],
        ...['--', server.command, ...server.args],
      ],
    }),
  },
  {
    package: 'supergateway@4.0.0',
    ways: ['http-stdio', 'stdio-http'],
    call: plain,
    start({ at: file, server, port }) {
      const quiet = ['--logLevel', 'none'];
      const program = [...LOOPBACK, file('dist/index.js')];
      if (server.url)
        return { args: [...program, '--streamableHttp', server.url, '--outputTransport', 'stdio', ...quiet] };
      const command = [server.command, ...server.args].map((word) => `'${word}'`).join(' ');
      const out = ['--outputTransport', 'streamableHttp', '--stateful', '--port', `${port}`];
      return { args: [...program, '--stdio', command, ...out, ...quiet] };
    },
  },
  {
    package: 'mcp-remote@0.15.1',
    ways: ['stdio-http'],
    call: plain,
    start: ({ at: file, server, spare, folder }) => ({
      args: [...LOOPBACK, file('dist/proxy.js'), server.url, `${spare}`, '--allow-http', '--transport', 'http-only'],
      env: { MCP_REMOTE_CONFIG_DIR: folder },
    }),
  },
  {
    package: '@fiberplane/mcp-gateway@0.7.1',
    ways: ['http-stdio', 'http-http'],
    call: plain,
    path: `/s/${SERVER}/mcp`,
    start({ at: file, server, port, folder }) {
      const storage = join(folder, 'storage');
      mkdirSync(storage);
      const entry = server.url
        ? { type: 'http', url: server.url, headers: {} }
        : { type: 'stdio', command: server.command, args: server.args, env: {} };
      writeJson(storage, 'mcp.json', { mcpServers: { [SERVER]: entry } });
      return { args: [...LOOPBACK, file('bin/mcp-gateway.js'), '--port', `${port}`, '--storage-dir', storage] };
    },
  },
  {
    package: '@civic/passthrough-mcp-server@0.12.1',
    ways: ['http-http'],
    call: plain,
    start: ({ at: file, server, port }) => ({
      args: [...LOOPBACK, file('dist/cli.js')],
      env: {
        PORT: `${port}`,
        TARGET_SERVER_URL: new URL(server.url).origin,
        TARGET_SERVER_MCP_PATH: '/mcp',
        TARGET_SERVER_TRANSPORT: 'httpStream',
        LOG_LEVEL: 'error',
      },
    }),
  },
];

/** Peers of other languages, by the option that takes the path of the program: `--native tbxark=/path`. */
export const NATIVE_PEERS = {
  tbxark: {
    name: 'TBXark mcp-proxy (Go)',
    ways: ['http-stdio', 'http-http'],
    call: plain,
    path: `/${SERVER}/mcp`,
    start({ program, server, port, folder }) {
      const address = `127.0.0.1:${port}`;
      const options = {
        baseURL: `http://${address}`,
        addr: address,
        name: 'bench',
        version: '1.0.0',
        type: 'streamable-http',
      };
      const entry = server.url ? { transportType: 'streamable-http', url: server.url } : entryOf(server);
      const file = writeJson(folder, 'tbxark.json', {
        mcpProxy: { ...options, options: { logEnabled: false } },
        mcpServers: { [SERVER]: entry },
      });
      return { command: program, args: ['-config', file] };
    },
  },
};

/** The folder in which a package is installed, with its own dependencies. */
export const homeOf = (folder, spec) => join(folder, nameOf(spec).replaceAll(/[@/]/g, '_'));
export const nameOf = (spec) => spec.slice(0, spec.lastIndexOf('@'));

/** The npm peers that are installed in a folder, as entries like those of `OWN`. */
export function installedPeers(folder) {
  return NPM_PEERS.flatMap((peer) => {
    const name = nameOf(peer.package);
    const root = join(homeOf(folder, peer.package), 'node_modules', name);
    if (!existsSync(root)) return [];
    const { version } = readJson(join(root, 'package.json'));
    const start = (setup) => ({ command: setup.node, ...peer.start({ ...setup, at: (file) => join(root, file) }) });
    return [{ ...peer, name: `${name} ${version}`, start }];
  });
}
