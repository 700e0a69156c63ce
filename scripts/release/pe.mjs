/** Windows: makes the file properties of the executable say mcpx instead of Node. */
import { NtExecutable, NtExecutableResource, Resource } from 'resedit';
import { BuildError } from '../project.mjs';

/** The bytes of node.exe with mcpx's name and version; its signature, no longer valid, is left out. Before injecting. */
export function withFileProperties(exe, version) {
  const image = NtExecutable.from(exe, { ignoreCert: true });
  const resources = NtExecutableResource.from(image);
  const [info] = Resource.VersionInfo.fromEntries(resources.entries);
  const language = info?.getAllLanguagesForStringValues()[0];
  if (language === undefined) throw new BuildError('the Windows executable has no version resource');
  const [major, minor, patch] = version.split(/[.+-]/).map(Number);
  info.setFileVersion(major, minor, patch, 0, language.lang);
  info.setProductVersion(major, minor, patch, 0, language.lang);
  info.setStringValues(language, {
    FileDescription: 'mcpx: every MCP server behind two tools',
    ProductName: 'mcpx',
    CompanyName: 'mcpx',
    InternalName: 'mcpx',
    OriginalFilename: 'mcpx.exe',
    LegalCopyright: 'MIT licence; see THIRD_PARTY_NOTICES for Node.js and the bundled packages',
  });
  info.outputToResourceEntries(resources.entries);
  resources.outputResource(image);
  return Buffer.from(image.generate());
}
