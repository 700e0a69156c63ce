/** The version of this program; the build replaces the placeholder, tests and unbundled runs use the fallback. */
declare const __VERSION__: string | undefined;

export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-dev';

/** Returns the exact line that `mcpx --version` prints. */
export function versionLine(): string {
  return `mcpx/${VERSION} ${process.platform}-${process.arch} node-${process.version}`;
}

/** The state of V8's code cache: only the executable has one, and V8 rejects a cache of another machine. */
export type CodeCache = 'accepted' | 'rejected' | 'none';

/** Returns the line that `mcpx --version --json` prints. */
export function versionJson(codeCache: CodeCache): string {
  const { platform, arch, versions } = process;
  return JSON.stringify({ version: VERSION, platform, arch, node: versions.node, codeCache });
}

/** True if the arguments ask for the version as JSON, and for nothing else. */
export function wantsVersionJson(words: readonly unknown[]): boolean {
  return words.length === 2 && words.includes('--version') && words.includes('--json');
}
