/** The software bill of materials in CycloneDX 1.6: the bundled packages, the embedded Node and the libraries inside it. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { at, projectVersion, readJson } from '../project.mjs';
import { bundledFolders } from '../release/notices.mjs';

/** Versions that `process.versions` lists although they are interfaces and data, not libraries. */
const NOT_SOFTWARE = new Set(['node', 'modules', 'napi', 'unicode', 'cldr', 'tz']);

const purlName = (name) => name.replace('@', '%40');

function npmComponent(folder, locked) {
  const { name, version, license, description } = readJson(at(folder, 'package.json'));
  const integrity = locked[folder]?.integrity;
  const [algorithm = '', digest = ''] = integrity?.split('-') ?? [];
  const purl = `pkg:npm/${purlName(name)}@${version}`;
  return {
    type: 'library',
    'bom-ref': `${purl}#${folder}`,
    name,
    version,
    ...(description === undefined ? {} : { description }),
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
    purl,
    ...(algorithm === 'sha512'
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
      : {}),
  };
}

/** The versions of the libraries in a Node, asked from that Node. */
function versionsOf(nodeFile) {
  const { stdout } = spawnSync(nodeFile, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' });
  return JSON.parse(stdout);
}

/** The embedded Node with the pinned hash of each binary or of the download that it is in, and its libraries inside. */
function nodeComponent({ version, targets }, versions) {
  const purl = `pkg:generic/node@${version}`;
  // Node lists a library that it was built without, with an empty version.
  const inside = Object.entries(versions).filter(([name, found]) => found !== '' && !NOT_SOFTWARE.has(name));
  return {
    type: 'application',
    'bom-ref': purl,
    name: 'node',
    version,
    description: 'The runtime inside the executables; mcpx.cjs and the npm package do not contain it',
    licenses: [{ license: { id: 'MIT' } }],
    purl,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    properties: Object.entries(targets).map(([target, { sha256, download, binary }]) => ({
      name: `mcpx:sha256:${target}`,
      value: `${sha256} ${download ?? binary}`,
    })),
    components: inside
      .map(([name, found]) => ({
        type: 'library',
        'bom-ref': `pkg:generic/${name}@${found}`,
        name,
        version: found,
        purl: `pkg:generic/${name}@${encodeURIComponent(found)}`,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** A serial number that depends on the content only, in the form of a UUID. */
function serialOf(content) {
  const hex = createHash('sha256').update(content).digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** `nodeFile` is the pinned Node of this machine; `lock` is node.lock.json. */
export function sbom(metafile, { lock, nodeFile, time }) {
  const locked = readJson(at('package-lock.json')).packages;
  const components = [
    ...bundledFolders(metafile).map((folder) => npmComponent(folder, locked)),
    nodeComponent(lock, versionsOf(nodeFile)),
  ];
  const root = `pkg:generic/mcpx@${projectVersion()}`;
  const document = {
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': root,
        name: 'mcpx',
        version: projectVersion(),
        purl: root,
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components,
    dependencies: [
      { ref: root, dependsOn: components.map((component) => component['bom-ref']) },
      ...components.map((component) => ({ ref: component['bom-ref'] })),
    ],
  };
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
  };
  const serialNumber = serialOf(JSON.stringify(document));
  return `${JSON.stringify({ ...head, serialNumber, version: 1, ...document }, null, 2)}\n`;
}
