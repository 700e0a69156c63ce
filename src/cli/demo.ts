/** `mcpx demo`: a gateway on the built-in servers, and a page of text that shows what it is good for. */
import { demoConfig } from '../config/load.ts';
import type { Reading } from '../front/meter.ts';
import { createLog } from '../observe/log.ts';
import { readListen } from './address.ts';
import type { Invocation } from './command.ts';
import { aborted, openGateway } from './gateway.ts';
import { note, paintAnswer, print, table } from './output.ts';
import { selfCommand, selfTyped } from './self.ts';
import { bindToProcess, openApp } from './session.ts';

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
    await print(report(place, { ...entrance.reading(), servers }));
    entrance.close();
    await aborted(stop);
    note('mcpx: stopping');
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
    bold('mcpx demo: a gateway on built-in servers, nothing installed, nothing configured'),
    '',
    savings(offer),
    '',
    bold('Look a tool up, then run one'),
    `  ${selfTyped()} inspect --demo time.convert`,
    `  ${selfTyped()} exec --demo math.calculate expression="6 * 7"`,
    '',
    bold('The same, as an MCP client would'),
    `  ${curl({ url, auth }, 'inspect', inspect)}`,
    `  ${curl({ url, auth }, 'exec', exec)}`,
    '',
    bold('Connect a client to this demo: put one of these into its MCP config'),
    `  ${JSON.stringify({ mcpServers: { mcpx: httpSnippet({ url, auth }) } })}`,
    `  ${JSON.stringify({ mcpServers: { mcpx: stdioSnippet() } })}`,
    '',
    `status page  ${url}/`,
    `MCP          ${url}/mcp`,
    '',
    'Running. Ctrl-C stops it.',
  ].join('\n');
}

/** Where the demo listens, and whether it wants a token. */
interface Place {
  url: string;
  auth: boolean;
}

interface Offer extends Reading {
  /** How many. */
  servers: number;
}

/** What a client reads before the first question: every definition, or mcpx's two tools. */
function savings({ servers, tools, without, with: after }: Offer): string {
  const less = Math.round(100 * (1 - after / without));
  return [
    'What a client reads before the first question:',
    table([
      ['  without mcpx', `≈ ${without} tokens`, `${tools} tools of ${servers} servers`],
      ['  with mcpx', `≈ ${after} tokens`, `inspect and exec, ${less} % less`],
    ]),
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
