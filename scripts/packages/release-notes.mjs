/** The notes of a release: the part of CHANGELOG.md about its version. As a command it prints those of package.json's version. */
import { readFileSync } from 'node:fs';
import { at, BuildError, isMain, projectVersion, runMain } from '../project.mjs';

/** The text under `## <version>`, or under `## Unreleased` if `draft` is set and the version has no part yet. */
export function releaseNotes(version, { changelog = readFileSync(at('CHANGELOG.md'), 'utf8'), draft = false } = {}) {
  const parts = changelog.split(/^## /m).slice(1);
  const titled = (title) =>
    parts.find((part) =>
      new RegExp(`^\\[?${title.replaceAll('.', '\\.')}\\]?(?: |$)`, 'm').test(part.split('\n', 1)[0]),
    );
  const found = titled(version) ?? (draft ? titled('Unreleased') : undefined);
  const text = found?.slice(found.indexOf('\n') + 1).trim();
  if (text !== undefined && text !== '') return `${unwrap(text)}\n`;
  throw new BuildError(`CHANGELOG.md has nothing about ${version}`, {
    hint: `move the entries of "Unreleased" under "## ${version} - <date>"`,
  });
}

/** The page of a release keeps line breaks, so that wrapped entries are joined. */
function unwrap(text) {
  return text.replace(/\n {2,}(?=\S)/g, ' ').replace(/([^\n])\n(?![\n#-])/g, '$1 ');
}

/** A version such as 1.0.0-rc.1 is a pre-release. */
export const isPrerelease = (version) => version.includes('-');

if (isMain(import.meta.url)) await runMain(() => void process.stdout.write(releaseNotes(projectVersion())));
