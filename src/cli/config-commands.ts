/** The rows of the commands that show and change the config file. */
import type { Command } from './command.ts';
import { CONFIG, JSON_OUT, STRICT } from './common-options.ts';

export const CONFIG_COMMANDS: Command[] = [
  {
    usage: 'config path',
    summary: 'print the path of the config file',
    group: 'Configure',
    options: [CONFIG, JSON_OUT],
    load: () => import('./config-path.ts'),
  },
  {
    usage: 'config show',
    summary: 'print the effective config with secrets masked',
    group: 'Configure',
    options: [CONFIG, JSON_OUT],
    load: () => import('./config-show.ts'),
  },
  {
    usage: 'config set <key> <value>',
    summary: 'set one value in the config file; comments stay',
    group: 'Configure',
    options: [CONFIG],
    examples: ['mcpx config set http.port 3096', 'mcpx config set mcpServers.github.startupTimeout 2m'],
    load: () => import('./config-set.ts'),
  },
  {
    usage: 'config unset <key>',
    summary: 'remove one value from the config file; comments stay',
    group: 'Configure',
    options: [CONFIG],
    load: () => import('./config-unset.ts'),
  },
  {
    usage: 'config validate [file]',
    summary: 'check a config without starting its servers',
    group: 'Configure',
    options: [CONFIG, STRICT, { flags: '--check', doc: 'also start every server once and store its lists' }, JSON_OUT],
    load: () => import('./config-validate.ts'),
  },
  {
    usage: 'config schema',
    summary: 'print the JSON Schema of the config file',
    group: 'Configure',
    options: [JSON_OUT],
    load: () => import('./config-schema.ts'),
  },
];
