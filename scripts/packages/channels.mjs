/**
 * Writes the files for package managers from SHA256SUMS: a Homebrew formula, a Scoop manifest and winget manifests.
 *   node scripts/packages/channels.mjs <folder with SHA256SUMS> --repository <owner/name>
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { log } from '../log.mjs';
import { at, BuildError, isMain, projectVersion, readJson, runMain } from '../project.mjs';
import { readSums, SUMS } from './checksums.mjs';
import { archiveName } from './contents.mjs';

export const releasesOf = (repository) => `https://github.com/${repository}/releases`;

/** The facts that all channels are made from. `archive` gives the URL and the hash of a target's archive, or undefined. */
export function releaseFacts(sums, { repository, version = projectVersion() }) {
  const { description } = readJson(at('package.json'));
  const [summary] = description.split('. ');
  return {
    version,
    repository,
    summary,
    homepage: `https://github.com/${repository}`,
    archive(target, ending) {
      const name = `${archiveName(target)}.${ending}`;
      const sha256 = sums.get(name);
      return sha256 && { name, sha256, url: `${releasesOf(repository)}/download/v${version}/${name}` };
    },
  };
}

const HOMEBREW = [
  ['macos', 'arm', 'darwin-arm64'],
  ['macos', 'intel', 'darwin-x64'],
  ['linux', 'arm', 'linux-arm64'],
  ['linux', 'intel', 'linux-x64'],
];

/** A formula that installs the executable of a release. Systems that the release does not have are left out. */
export function homebrewFormula({ version, summary, homepage, archive }) {
  const blocks = ['macos', 'linux'].flatMap((system) => {
    const found = HOMEBREW.filter(([on]) => on === system).flatMap(([, cpu, target]) => {
      const file = archive(target, 'tar.gz');
      return file ? [`    on_${cpu} do`, `      url "${file.url}"`, `      sha256 "${file.sha256}"`, '    end'] : [];
    });
    return found.length === 0 ? [] : ['', `  on_${system} do`, ...found, '  end'];
  });
  return [
    'class Mcpx < Formula',
    `  desc "${summary}"`,
    `  homepage "${homepage}"`,
    `  version "${version}"`,
    '  license "MIT"',
    '',
    '  livecheck do',
    '    url :stable',
    '    strategy :github_latest',
    '  end',
    ...blocks,
    '',
    '  def install',
    '    bin.install "mcpx"',
    '    bash_completion.install "completions/mcpx.bash" => "mcpx"',
    '    zsh_completion.install "completions/_mcpx"',
    '    fish_completion.install "completions/mcpx.fish"',
    '    man1.install "man/mcpx.1"',
    '  end',
    '',
    '  test do',
    '    assert_match "mcpx/#{version}", shell_output("#{bin}/mcpx --version")',
    '    assert_match "ff", shell_output("#{bin}/mcpx exec --demo math.convert_base number=255 to=16")',
    '  end',
    'end',
    '',
  ].join('\n');
}

const SCOOP = [
  ['64bit', 'win-x64'],
  ['arm64', 'win-arm64'],
];

/** A Scoop manifest that updates itself from the checksums of later releases. */
export function scoopManifest({ version, summary, homepage, repository, archive }) {
  const built = SCOOP.flatMap(([cpu, target]) => {
    const file = archive(target, 'zip');
    return file ? [{ cpu, target, file, folder: file.name.replace(/\.zip$/, '') }] : [];
  });
  const updateUrl = (target) => `${releasesOf(repository)}/download/v$version/mcpx-$version-${target}.zip`;
  const manifest = {
    version,
    description: summary,
    homepage,
    license: 'MIT',
    architecture: Object.fromEntries(
      built.map(({ cpu, file, folder }) => [cpu, { url: file.url, hash: file.sha256, extract_dir: folder }]),
    ),
    bin: 'mcpx.exe',
    checkver: 'github',
    autoupdate: {
      architecture: Object.fromEntries(
        built.map(({ cpu, target }) => [cpu, { url: updateUrl(target), extract_dir: `mcpx-$version-${target}` }]),
      ),
      hash: { url: '$baseurl/SHA256SUMS' },
    },
  };
  return `${JSON.stringify(manifest, null, 4)}\n`;
}

const WINGET_SCHEMA = '1.6.0';
const WINGET = [
  ['x64', 'win-x64'],
  ['arm64', 'win-arm64'],
];

/** The three manifests of winget by file name. */
export function wingetManifests({ version, summary, homepage, repository, archive }) {
  const [owner] = repository.split('/');
  const id = `${owner}.mcpx`;
  const head = (type) => [
    `# yaml-language-server: $schema=https://aka.ms/winget-manifest.${type}.${WINGET_SCHEMA}.schema.json`,
    `PackageIdentifier: ${id}`,
    `PackageVersion: ${version}`,
  ];
  const tail = (type) => [`ManifestType: ${type}`, `ManifestVersion: ${WINGET_SCHEMA}`, ''];
  const installers = WINGET.flatMap(([cpu, target]) => {
    const file = archive(target, 'zip');
    if (!file) return [];
    return [
      `- Architecture: ${cpu}`,
      `  InstallerUrl: ${file.url}`,
      `  InstallerSha256: ${file.sha256.toUpperCase()}`,
      '  NestedInstallerFiles:',
      `  - RelativeFilePath: ${file.name.replace(/\.zip$/, '')}\\mcpx.exe`,
      '    PortableCommandAlias: mcpx',
    ];
  });
  return {
    [`${id}.yaml`]: [...head('version'), 'DefaultLocale: en-US', ...tail('version')].join('\n'),
    [`${id}.installer.yaml`]: [
      ...head('installer'),
      'MinimumOSVersion: 10.0.0.0',
      'InstallerType: zip',
      'NestedInstallerType: portable',
      'Installers:',
      ...installers,
      ...tail('installer'),
    ].join('\n'),
    [`${id}.locale.en-US.yaml`]: [
      ...head('defaultLocale'),
      'PackageLocale: en-US',
      `Publisher: ${owner}`,
      'PackageName: mcpx',
      'License: MIT',
      `PackageUrl: ${homepage}`,
      `ShortDescription: "${summary}"`,
      'Moniker: mcpx',
      `ReleaseNotesUrl: ${releasesOf(repository)}/tag/v${version}`,
      ...tail('defaultLocale'),
    ].join('\n'),
  };
}

/** Writes the files of the channels into `folder`, next to SHA256SUMS, and returns their names. A channel without an archive has none. */
export function writeChannels(folder, { repository, version = projectVersion() }) {
  if (!/^[\w-]+\/[\w.-]+$/.test(repository ?? '')) {
    throw new BuildError('the name of the repository is needed', { hint: '--repository <owner/name>' });
  }
  const facts = releaseFacts(readSums(readFileSync(join(folder, SUMS), 'utf8')), { repository, version });
  const winget = Object.entries(wingetManifests(facts)).map(([name, text]) => [`winget/${name}`, text]);
  const windows = SCOOP.some(([, target]) => facts.archive(target, 'zip'));
  const unix = HOMEBREW.some(([, , target]) => facts.archive(target, 'tar.gz'));
  const files = [
    ...(unix ? [['mcpx.rb', homebrewFormula(facts)]] : []),
    ...(windows ? [['mcpx.json', scoopManifest(facts)], ...winget] : []),
  ];
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return files.map(([name]) => name);
}

if (isMain(import.meta.url)) {
  await runMain((args) => {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { repository: { type: 'string' }, version: { type: 'string' } },
    });
    const [folder = at('dist')] = positionals;
    for (const name of writeChannels(folder, values)) log('channel', name);
  });
}
