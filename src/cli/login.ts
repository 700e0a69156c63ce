/** `mcpx login <server>`: signs in to a server with OAuth. `mcpx login --list` shows who is signed in. */
import { accessTo } from '../app/begin-sign-in.ts';
import { configOptions } from '../app/config-options.ts';
import type { RemoteServer } from '../config/config.ts';
import { environmentOf } from '../config/environment.ts';
import { tokensFile } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import { createLog } from '../observe/log.ts';
import { nearest } from '../render/text.ts';
import type { ServerAccess } from '../upstream/http/authorization.ts';
import { createOAuth, type OAuth } from '../upstream/oauth/oauth.ts';
import type { SignIn } from '../upstream/oauth/token-file.ts';
import type { Invocation } from './command.ts';
import { readConfig } from './command-app.ts';
import { inLanguage } from './language/language.ts';
import { isTyped, readPasted } from './login-paste.ts';
import { openBrowser } from './open-browser.ts';
import { isOnTerminal, paintAnswer, print, printJson, say, table } from './output.ts';
import { type Aside, whileWaiting } from './progress.ts';
import { status } from './status-lines.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  if (flags.has('list')) return listSignIns(flags.has('json'));
  const { server, oauth } = openSignIn(invocation, args[0]);
  const signIn = flags.has('device')
    ? await onOtherDevice(invocation, server, oauth)
    : await inBrowser(invocation, server, oauth);
  if (!oauth.tokens.isStored(signIn))
    throw new McpxError('failed', `the sign-in to "${server.name}" is lost, because it could not be stored`);
  if (flags.has('json')) await print(JSON.stringify({ server: server.name, ...describe(signIn) }));
  else await say(`signed in to ${paintAnswer('bold', server.name)}${details(signIn)}`);
  return 0;
}

/** Returns the server that the user named, with its store of tokens. */
export function openSignIn(
  { flags }: Pick<Invocation, 'flags'>,
  name: string | undefined,
): { server: ServerAccess; oauth: OAuth } {
  const config = readConfig(flags);
  const { settings, profiles } = config;
  const profile = flags.value('profile');
  const specs = profiles
    .filter((one) => profile === undefined || one.name === profile)
    .flatMap(({ servers }) => servers)
    .filter((spec): spec is RemoteServer => 'url' in spec);
  const names = [...new Set(specs.map((spec) => spec.name))];
  if (name === undefined) {
    const hint = names.length === 0 ? 'mcpx list' : `mcpx login ${names[0]}`;
    throw new McpxError('usage', `name the server to sign in to${names.length > 0 ? `: ${names.join(', ')}` : ''}`, {
      hint,
    });
  }
  const spec = specs.find((one) => one.name === name);
  if (spec === undefined) {
    const [close] = nearest(name, names);
    throw new McpxError('not_found', `there is no server "${name}" with a URL in the config`, {
      hint: close === undefined ? 'mcpx list' : `mcpx login ${close}`,
    });
  }
  const log = createLog({ ...settings.log, level: 'warn' });
  const oauth = createOAuth({ file: tokensFile(environmentOf()), log, options: configOptions(config) });
  // A file that cannot be read is reported before the user signs in.
  oauth.tokens.all();
  return { server: accessTo(spec, settings, flags.value('scope')), oauth };
}

async function inBrowser({ flags, stop }: Invocation, server: ServerAccess, oauth: OAuth): Promise<SignIn> {
  const pending = await whileWaiting(`asking ${server.name}`, oauth.signInOf(server).beginSignIn(), stop);
  if (flags.has('json')) await print(JSON.stringify({ server: server.name, url: pending.url }));
  const opened = !flags.has('no-browser') && isOnTerminal() && (await openBrowser(pending.url));
  status.info(
    `${opened ? 'sign in on the page in your browser, or open' : 'open this page to sign in'}:\n\n  ${pending.url}\n`,
  );
  const typing = new AbortController();
  const isPrompted = !opened && isTyped();
  if (isPrompted || flags.has('no-browser')) void readPasted(pending, AbortSignal.any([stop, typing.signal]));
  try {
    // Nothing may be drawn over the line on which the user types.
    const work = isPrompted ? (aside: Aside) => aside(pending.done) : pending.done;
    return await whileWaiting('waiting for the sign-in', work, stop);
  } finally {
    typing.abort();
    pending.cancel();
  }
}

async function onOtherDevice({ flags, stop }: Invocation, server: ServerAccess, oauth: OAuth): Promise<SignIn> {
  const { url, code, done } = await oauth.signInOf(server).beginDeviceSignIn(stop);
  if (flags.has('json')) await print(JSON.stringify({ server: server.name, url, code }));
  status.info(`open ${url} on any device and enter the code ${code}`);
  return whileWaiting('waiting for the sign-in', done, stop);
}

async function listSignIns(asJson: boolean): Promise<number> {
  const log = createLog({ level: 'warn', format: 'text', file: null });
  const signIns = createOAuth({ file: tokensFile(environmentOf()), log }).tokens.all();
  if (asJson) await printJson(signIns.map(describe));
  else if (signIns.length === 0) status.info('not signed in to any server; mcpx login <server> signs in');
  else await print(table(signIns.map((one) => [one.resource, inLanguage(stateOf(one)), one.tokens?.scope ?? ''])));
  return 0;
}

function describe({ resource, issuer, client, tokens, ended }: SignIn) {
  return {
    resource,
    issuer,
    client: client.id,
    signedIn: tokens !== undefined,
    ...(tokens?.scope !== undefined && { scope: tokens.scope }),
    ...(tokens?.expiresAt !== undefined && { expires: new Date(tokens.expiresAt).toISOString() }),
    ...(tokens !== undefined && { renewable: tokens.refresh !== undefined }),
    ...(ended !== undefined && { ended }),
  };
}

function details({ tokens }: SignIn): string {
  const scope = tokens?.scope === undefined || tokens.scope === '' ? [] : [`scopes: ${tokens.scope}`];
  const end =
    tokens?.refresh === undefined && tokens?.expiresAt !== undefined ? [`until ${when(tokens.expiresAt)}`] : [];
  const all = [...scope, ...end];
  return all.length === 0 ? '' : ` (${all.join('; ')})`;
}

function stateOf({ tokens, ended }: SignIn): string {
  if (tokens === undefined) return ended === undefined ? 'signed out' : `sign in needed: ${ended}`;
  if (tokens.expiresAt === undefined) return 'signed in';
  const end = when(tokens.expiresAt);
  return tokens.refresh === undefined ? `signed in until ${end}` : `signed in, to be renewed by ${end}`;
}

function when(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}
