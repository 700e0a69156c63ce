/** `mcpx logout <server>`: revokes the tokens of a sign-in and forgets them. */
import { messageOf } from '../errors.ts';
import type { Invocation } from './command.ts';
import { openSignIn } from './login.ts';
import { say } from './output.ts';
import { whileWaiting } from './progress.ts';
import { status } from './status-lines.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { server, oauth } = openSignIn(invocation, invocation.args[0]);
  const outcome = await whileWaiting(
    `signing out of ${server.name}`,
    oauth.signInOf(server).signOut(),
    invocation.stop,
  );
  if (outcome === 'none') status.info(`not signed in to ${server.name}`);
  if (outcome instanceof Error)
    status.warn(`the tokens are deleted here, but could not be revoked: ${messageOf(outcome)}`);
  if (outcome !== 'none') await say(`signed out of ${server.name}`);
  return 0;
}
