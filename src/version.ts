/** The version of this program; the build replaces the placeholder, tests and unbundled runs use the fallback. */
declare const __VERSION__: string | undefined;

export const VERSION: string = typeof __VERSION__ === 'string' ? __VERSION__ : '0.0.0-dev';

/** Returns the exact line that `mcpx --version` prints. */
export function versionLine(): string {
  return `mcpx/${VERSION} ${process.platform}-${process.arch} node-${process.version}`;
}
