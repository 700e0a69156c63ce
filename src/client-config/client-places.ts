/** Finds the files of MCP clients on this machine, in the layout of each operating system. */
import { readdirSync, statSync } from 'node:fs';
import { type Environment, lookup, pathsOf } from '../config/environment.ts';
import type { Installation, PathTemplate } from './client-row.ts';
import { CLIENT_IDS, type ClientId, rowOf } from './client-table.ts';

export interface ClientWorld extends Environment {
  /** The system whose layout the folders have (default: `platform`). Tests use the layout of another system on this one. */
  layout?: NodeJS.Platform;
}

export type Scope = 'user' | 'project';

/** One file of a client. */
export interface ClientPlace {
  client: ClientId;
  scope: Scope;
  file: string;
  exists: boolean;
  /** True if the entry for mcpx belongs into this file; others are only read, and their servers are taken out. */
  isMain: boolean;
}

/** Returns the files of one client that exist, and those that a setup would create because the client is installed. */
export function installedPlaces(client: ClientId, world: ClientWorld): ClientPlace[] {
  const mains = installationsOf(client, world).flatMap(({ files, folder }) => {
    const paths = files.flatMap((file) => resolveTemplate(file, world) ?? []);
    const existing = paths.filter(isFile);
    const first = paths[0];
    const marker =
      folder === undefined ? first && pathsOf(world).dirname(first) : folder && resolveTemplate(folder, world);
    if (existing[0] !== undefined) return [existing[0]];
    return first !== undefined && marker && isFolder(marker) ? [first] : [];
  });
  const more = (rowOf(client).more ?? []).flatMap((template) => expandStar(template, world)).filter(isFile);
  const others = more.filter((file, index) => !mains.includes(file) && more.indexOf(file) === index);
  return [
    ...mains.map((file) => userPlace(client, file, true)),
    ...others.map((file) => userPlace(client, file, false)),
  ];
}

/** Like `installedPlaces`; if the client seems not to be installed, returns the file that its first start would create. */
export function placesFor(client: ClientId, scope: Scope, world: ClientWorld): ClientPlace[] {
  if (scope === 'project') return projectPlace(client, world);
  const found = installedPlaces(client, world);
  if (found.some(({ isMain }) => isMain)) return found;
  const templates = installationsOf(client, world).flatMap(({ files }) => files);
  const [usual] = templates.flatMap((template) => resolveTemplate(template, world) ?? []);
  return usual === undefined ? found : [userPlace(client, usual, true), ...found];
}

/** Returns the clients that seem to be installed, in the order of the table. */
export function installedClients(world: ClientWorld): ClientId[] {
  return CLIENT_IDS.filter((client) => installedPlaces(client, world).length > 0);
}

function projectPlace(client: ClientId, world: ClientWorld): ClientPlace[] {
  const files = (rowOf(client).project ?? []).map((file) => pathsOf(world).join(world.cwd, ...file.split('/')));
  const file = files.find(isFile) ?? files[0];
  return file === undefined ? [] : [{ client, scope: 'project', file, exists: isFile(file), isMain: true }];
}

function userPlace(client: ClientId, file: string, isMain: boolean): ClientPlace {
  return { client, scope: 'user', file, exists: isFile(file), isMain };
}

function installationsOf(client: ClientId, world: ClientWorld): readonly Installation[] {
  const { user } = rowOf(client);
  if (!('linux' in user)) return user;
  const layout = layoutOf(world);
  return layout === 'win32' || layout === 'darwin' ? user[layout] : user.linux;
}

function layoutOf({ layout, platform }: ClientWorld): NodeJS.Platform {
  return layout ?? platform;
}

/** Returns the path; undefined if it begins with a variable that is not set and has no default. */
function resolveTemplate(template: PathTemplate, world: ClientWorld): string | undefined {
  const paths = pathsOf(world);
  let isComplete = true;
  const filled = template
    .replace('{userData}', () => userDataOf(world))
    .replace(/%(\w+)%/g, (_, name: string) => windowsFolder(name, world))
    .replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, fallback?: string) => {
      const value = lookup(name, world);
      if (value) return value;
      if (fallback === undefined) isComplete = false;
      return fallback ?? '';
    })
    .replace(/^~/, () => world.home);
  return isComplete ? paths.normalize(filled) : undefined;
}

/** Returns the folder in which applications keep their data: Electron calls it `appData`. */
function userDataOf(world: ClientWorld): string {
  const layout = layoutOf(world);
  if (layout === 'win32') return windowsFolder('APPDATA', world);
  if (layout === 'darwin') return '~/Library/Application Support';
  return '${XDG_CONFIG_HOME:-~/.config}';
}

function windowsFolder(name: string, world: ClientWorld): string {
  return lookup(name, world) ?? `~/AppData/${name === 'LOCALAPPDATA' ? 'Local' : 'Roaming'}`;
}

/** Replaces a `*` in one part of the path by every name in that folder that fits. */
function expandStar(template: PathTemplate, world: ClientWorld): string[] {
  const paths = pathsOf(world);
  const path = resolveTemplate(template, world);
  if (path === undefined || !path.includes('*')) return path === undefined ? [] : [path];
  const parts = path.split(paths.sep);
  const star = parts.findIndex((part) => part.includes('*'));
  const folder = parts.slice(0, star).join(paths.sep);
  const [head = '', tail = ''] = (parts[star] ?? '').split('*');
  const names = namesIn(folder).filter((name) => name.startsWith(head) && name.endsWith(tail));
  return names.sort().map((name) => [folder, name, ...parts.slice(star + 1)].join(paths.sep));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
