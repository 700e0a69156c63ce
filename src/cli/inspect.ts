/** `mcpx inspect server[.tool]`: prints the text that a model would read, or the definition itself with --json. */
import { definition, describeServer, describeTool } from '../front/compact/inspect-tool.ts';
import type { Invocation } from './command.ts';
import { splitTarget, withApp } from './command-app.ts';
import { print, printJson } from './output.ts';
import { whileStarting } from './progress.ts';

export function run(invocation: Invocation): Promise<number> {
  return withApp(
    invocation,
    async (app, { settings }) => {
      const { server, tool: toolName } = splitTarget(invocation.args[0] ?? '');
      const router = app.router();
      const json = invocation.flags.has('json');
      if (toolName === undefined) {
        const view = await whileStarting(server, router.server(server), invocation.stop);
        const { listing } = view.entry;
        if (listing.kind === 'failed' && view.tools.length === 0) throw listing.error;
        if (json) await printJson({ server, tools: view.tools.map(definition) });
        // A user has no context window to save, so nothing is shortened.
        else
          await print(
            describeServer(view, {
              ...settings,
              limits: { ...settings.limits, resultChars: Number.POSITIVE_INFINITY },
            }),
          );
        return 0;
      }
      const tool = await whileStarting(server, router.tool(server, toolName), invocation.stop);
      if (json) await printJson(definition(tool));
      else await print(describeTool({ server, tool, hasFailed: false }, settings));
      return 0;
    },
    'live',
  );
}
