/** `mcpx demo`: starts a gateway with the built-in servers and prints a page of text about its use. */
import { demoConfig } from '../config/load.ts';
import type { Reading } from '../front/savings.ts';
import { createLog } from '../observe/log.ts';
import { readListen } from './address.ts';
import type { Invocation } from './command.ts';
import { bindToProcess, openApp } from './command-app.ts';
import { paintAnswer, print, table } from './output.ts';
import { selfCommand, selfTyped } from './own-command.ts';
import { aborted, openGateway } from './start-gateway.ts';
import { status } from './status-lines.ts';

export async function run({ flags, stop, ...lifecycle }: Invocation): Promise<number> {
  const { host, port } = readListen(flags);
  const config = demoConfig({ overrides: { host, port, logLevel: flags.value('log-level') } });
  const log = createLog(config.settings.log);
  const app = openApp(config, log);
  bindToProcess(app, lifecycle);
  try {
    const { listener } = await openGateway(app, config, { log });
    const entrance = app.enter({ profile: app.mainProfile ?? '' });
    await entrance.listed();
    const servers = entrance.router.servers().length;
    const place = { url: listener.url, auth: config.settings.http.auth.tokens.length > 0 };
    await print(report(place, { ...(await entrance.reading()), servers }));
    entrance.close();
    await aborted(stop);
    status.info('mcpx: stopping');
    await listener.close();
    return 0;
  } finally {
    await app.stop();
  }
}

function report({ url, auth }: Place, offer: Offer): string {
  const bold = (text: string) => paintAnswer('bold', text);
  const inspect = { server_name: 'time', tool_name: 'convert' };
  const exec = { server_name: 'math', tool_name: 'calculate', arguments: { expression: '6 * 7' } };
  return [
    bold('mcpx demo: a gateway with built-in servers'),
    '',
    savings(offer),
    '',
    bold('Look up a tool, then call a tool'),
    `  ${selfTyped()} inspect --demo time.convert`,
    `  ${selfTyped()} exec --demo math.calculate expression="6 * 7"`,
    '',
    bold('The same requests over MCP'),
    `  ${curl({ url, auth }, 'inspect', inspect)}`,
    `  ${curl({ url, auth }, 'exec', exec)}`,
    '',
    bold('To connect a client to this demo, add one of these to its MCP config'),
    `  ${JSON.stringify({ mcpServers: { mcpx: httpSnippet({ url, auth }) } })}`,
    `  ${JSON.stringify({ mcpServers: { mcpx: stdioSnippet() } })}`,
    '',
    `status page  ${url}/`,
    `MCP          ${url}/mcp`,
    '',
    'Running. Ctrl-C stops it.',
  ].join('\n');
}

/** The address of the demo; `auth` is true if it requires a token. */
interface Place {
  url: string;
  auth: boolean;
}

interface Offer extends Reading {
  /** The number of servers. */
  servers: number;
}

/**
 * Compares the tokens of all definitions, which most clients read before the first question, with those of mcpx's two
 * tools; then the same for clients that show the model only names.
 */
function savings({ servers, tools, without, with: after, deferring }: Offer): string {
  const less = Math.round(100 * (1 - after / without));
  return [
    'Tokens that most clients read before the first question:',
    table([
      ['  without mcpx', `≈ ${without} tokens`, `${tools} tools of ${servers} servers`],
      ['  with mcpx', `≈ ${after} tokens`, `inspect and exec, ${less} % less`],
    ]),
    'Clients that show only the names of tools and have their own search read less:',
    table(deferring.map((one) => [`  ${one.client}`, `≈ ${one.without} tokens without mcpx, ≈ ${one.with} with it`])),
  ].join('\n');
}

function curl({ url, auth }: Place, name: string, args: unknown): string {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const header = auth ? ` -H "authorization: Bearer $MCPX_TOKEN"` : '';
  return `curl -s ${url}/mcp -H 'content-type: application/json'${header} -d '${JSON.stringify(body)}'`;
}

function httpSnippet({ url, auth }: Place): unknown {
  const headers = { Authorization: 'Bearer ${MCPX_TOKEN}' };
  return { type: 'http', url: `${url}/mcp`, ...(auth && { headers }) };
}

function stdioSnippet(): { command: string; args: string[] } {
  const { command, args } = selfCommand();
  return { command, args: [...args, 'serve', '--demo'] };
}
