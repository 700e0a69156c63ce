/** The completion scripts of the shells. Each sends the words before the cursor to `mcpx __complete` and shows its answer. */
import { readFileSync } from 'node:fs';
import type { Shell } from './shell-words.ts';

/** The build replaces each `read('…')` by the text of the file. */
export const SCRIPTS = {
  bash: read('mcpx.bash'),
  zsh: read('mcpx.zsh'),
  fish: read('mcpx.fish'),
  powershell: read('mcpx.ps1'),
} satisfies Record<Shell, string>;

/** The command that installs the completion of each shell for this user. */
export const INSTALL = {
  bash: 'mkdir -p ~/.local/share/bash-completion/completions && mcpx completion bash > ~/.local/share/bash-completion/completions/mcpx',
  zsh: 'mcpx completion zsh > "${fpath[1]}/_mcpx"',
  fish: 'mcpx completion fish > ~/.config/fish/completions/mcpx.fish',
  powershell: 'mcpx completion powershell >> $PROFILE',
} satisfies Record<Shell, string>;

function read(file: string): string {
  return readFileSync(new URL(`./scripts/${file}`, import.meta.url), 'utf8');
}
