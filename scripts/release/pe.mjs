/** Windows: replaces the icon and the file properties of Node in the executable. */
import { NtExecutable, NtExecutableResource, Resource } from 'resedit';
import { BuildError } from '../project.mjs';
import { icons } from './icon.mjs';

/** Sets the strings and numbers that Explorer shows under "Details". */
function setVersion(entries, version) {
  const [info] = Resource.VersionInfo.fromEntries(entries);
  const language = info?.getAllLanguagesForStringValues()[0];
  if (language === undefined) throw new BuildError('the Windows executable has no version resource');
  const [major, minor, patch] = version.split(/[.+-]/).map(Number);
  info.setFileVersion(major, minor, patch, 0, language.lang);
  info.setProductVersion(major, minor, patch, 0, language.lang);
  info.setStringValues(language, {
    FileDescription: 'mcpx: every MCP server behind two tools',
    ProductName: 'mcpx',
    ProductVersion: version,
    CompanyName: 'mcpx',
    InternalName: 'mcpx',
    OriginalFilename: 'mcpx.exe',
    LegalCopyright: 'MIT licence; see THIRD_PARTY_NOTICES for Node.js and the bundled packages',
  });
  info.outputToResourceEntries(entries);
}

/** Replaces every icon. Windows shows the group with the lowest id, whatever its language. */
function setIcons(entries) {
  const groups = Resource.IconGroupEntry.fromEntries(entries);
  if (groups.length === 0) throw new BuildError('the Windows executable has no icon to replace');
  for (const { id, lang } of groups) Resource.IconGroupEntry.replaceIconsForResource(entries, id, lang, icons());
}

/** The bytes of node.exe with mcpx's name, version and icon; its signature, no longer valid, is left out. Before injecting. */
export function withFileProperties(exe, version) {
  const image = NtExecutable.from(exe, { ignoreCert: true });
  const resources = NtExecutableResource.from(image);
  setVersion(resources.entries, version);
  setIcons(resources.entries);
  resources.outputResource(image);
  return Buffer.from(image.generate());
}

/** Reads name, version and icons back: `{properties, icons}`. */
export function fileProperties(exe) {
  const { entries } = NtExecutableResource.from(NtExecutable.from(exe, { ignoreCert: true }));
  const [info] = Resource.VersionInfo.fromEntries(entries);
  const language = info?.getAllLanguagesForStringValues()[0];
  const items = Resource.IconGroupEntry.fromEntries(entries).flatMap((group) => group.getIconItemsFromEntries(entries));
  return {
    properties: language === undefined ? {} : info.getStringValues(language),
    icons: items.map((item) => Buffer.from(item.isRaw() ? item.bin : item.generate())),
  };
}
