/**
 * Lists of real servers pass the aggregate front unchanged, except for names, URIs and the name of the server.
 * `MCPX_CATALOGS=<folder>` adds recorded catalogs, one JSON file per server in the form that tests/fixtures/servers/replay.mjs plays.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixture, serverScript } from '../e2e/program.ts';
import type { Conversation, Target } from './conversation.ts';
import { type Gateway, startGateway, TRANSPARENT } from './gateway.ts';
import { talkBytes, talkHttp } from './raw.ts';

interface Item extends Record<string, unknown> {
  _meta?: Record<string, unknown>;
}
type Lists = Record<'tools' | 'prompts' | 'resources' | 'resourceTemplates', Item[]>;

const LISTS = [
  ['tools', 'tools/list', 'name'],
  ['prompts', 'prompts/list', 'name'],
  ['resources', 'resources/list', 'uri'],
  ['resourceTemplates', 'resources/templates/list', 'uriTemplate'],
] as const;

/** All pages of all lists; a server that does not know one has nothing in it. */
async function listAll(client: Conversation): Promise<Lists> {
  const lists: Lists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
  for (const [list, method] of LISTS) {
    let cursor: string | undefined;
    do {
      const page = await client
        .request(method, cursor === undefined ? {} : { cursor })
        .catch((error) => (error.code === -32601 ? { [list]: [] } : Promise.reject(error)));
      lists[list].push(...page[list]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
  return lists;
}

/** The item as its server listed it: under its own name or URI, without the note of where it is from. */
function restored(item: Item, key: string): Item {
  const { 'dev.mcpx/server': _, [`dev.mcpx/${key}`]: own, ...meta } = item._meta ?? {};
  const { _meta, ...rest } = { ...item, [key]: own };
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

function listsOf(server: string, all: Lists): Lists {
  const of = (list: keyof Lists, key: string) =>
    all[list].filter(({ _meta }) => _meta?.['dev.mcpx/server'] === server).map((item) => restored(item, key));
  return Object.fromEntries(LISTS.map(([list, , key]) => [list, of(list, key)])) as unknown as Lists;
}

/** A page of an app is named in `_meta` of its tool; its URI is a URI like any other. */
function withoutPages(lists: Lists): Lists {
  const tools = lists.tools.map((tool) => {
    const { ui, 'ui/resourceUri': flat, ...meta } = (tool._meta ?? {}) as Record<string, any>;
    const scheme = (uri: unknown) => (typeof uri === 'string' ? uri.slice(0, 5) : uri);
    if (ui === undefined && flat === undefined) return tool;
    const pages = {
      ...(ui && { ui: { ...ui, resourceUri: scheme(ui.resourceUri) } }),
      ...(flat !== undefined && { 'ui/resourceUri': scheme(flat) }),
    };
    return { ...tool, _meta: { ...meta, ...pages } };
  });
  return { ...lists, tools };
}

async function gatewayOf(config: Record<string, unknown>): Promise<Gateway> {
  const gateway = await startGateway({ front: { kind: 'aggregate' }, connect: { firstListWait: '40s' }, ...config });
  onTestFinished(() => gateway.stop());
  return gateway;
}

async function talk(open: Promise<Conversation>): Promise<Conversation> {
  const client = await open;
  onTestFinished(() => client.close());
  return client;
}

interface Entry {
  command: string;
  args: string[];
  env?: Record<string, string>;
}
const node = process.execPath;

function realServers(folder: string): Record<string, Entry> {
  return {
    everything: { command: node, args: [serverScript('server-everything')] },
    filesystem: { command: node, args: [serverScript('server-filesystem'), folder] },
    memory: {
      command: node,
      args: [serverScript('server-memory')],
      env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
    },
  };
}

/** The same conversation with the server itself. */
const direct = ({ command, args, env = {} }: Entry): Target => ({
  url: '',
  command: { command, args, env: { PATH: process.env.PATH ?? '', ...env }, cwd: tmpdir() },
});

function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-catalogs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Each server once, under names of which no two are equal and none is too long; in the order of the servers. */
function expectSound({ tools, prompts }: Lists): void {
  for (const names of [tools, prompts].map((items) => items.map(({ name }) => String(name)))) {
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => name.length > 64)).toEqual([]);
  }
}

describe('the servers from npm', () => {
  test.each(['stdio', 'http'] as const)('come out as they went in, over %s', async (transport) => {
    const servers = realServers(tempFolder());
    const gateway = await gatewayOf({ mcpServers: servers });
    const all = await listAll(await talk(transport === 'stdio' ? talkBytes(gateway, []) : talkHttp(gateway)));
    expectSound(all);
    for (const [name, entry] of Object.entries(servers)) {
      const own = await listAll(await talk(talkBytes(direct(entry), [])));
      expect(own.tools.length).toBeGreaterThan(0);
      expect(withoutPages(listsOf(name, all))).toEqual(withoutPages(own));
    }
  });

  test.each(['everything', 'filesystem', 'memory'])('%s is told whole by the compact front', async (name) => {
    const entry = realServers(tempFolder())[name] as Entry;
    const gateway = await gatewayOf({ front: { kind: 'compact' }, mcpServers: { [name]: entry } });
    const through = await talk(talkBytes(gateway, []));
    const own = await listAll(await talk(talkBytes(direct(entry), [])));
    const inspect = (tool_name: unknown) =>
      through.request('tools/call', { name: 'inspect', arguments: { server_name: name, tool_name } });
    for (const { _meta, icons: _, execution: __, ...shown } of own.tools) {
      const { structuredContent, content } = await inspect(shown.name);
      expect(structuredContent).toEqual(shown);
      // The text has every word of the title, which is added only if it says more than name and description.
      for (const word of titleOf(shown).toLowerCase().match(/\w+/g) ?? [])
        expect(content[0].text.toLowerCase()).toContain(word);
    }
    expect({ ...listsOf(name, await listAll(through)), tools: own.tools }).toEqual(own);
  });

  test.each(['everything', 'filesystem', 'memory'])('%s alone is itself, also by its answers', async (name) => {
    const entry = realServers(tempFolder())[name] as Entry;
    const gateway = await gatewayOf({ ...TRANSPARENT, mcpServers: { only: entry } });
    const [through, itself] = [await talk(talkBytes(gateway, [])), await talk(talkBytes(direct(entry), []))];
    const [all, own] = [await listAll(through), await listAll(itself)];
    expect(listsOf('only', all)).toEqual(own);
    for (const [list, , key] of LISTS)
      expect(all[list].map((item) => item[key])).toEqual(own[list].map((item) => item[key]));
    for (const { uri } of own.resources) {
      const read = (client: Conversation) => client.request('resources/read', { uri }).then(withoutTimes, withoutTimes);
      expect(await read(through)).toEqual(await read(itself));
    }
    const wrong = (client: Conversation) =>
      client.request('tools/call', { name: own.tools[0]?.name, arguments: { none: 1 } }).catch(({ code, message }) => ({
        code,
        message,
      }));
    expect(await wrong(through)).toEqual(await wrong(itself));
  });
});

function titleOf({ title, annotations }: Item): string {
  return String(title ?? (annotations as { title?: string } | undefined)?.title ?? '');
}

/** Two lists of one server may contain two different times. */
function withoutTimes(result: unknown): unknown {
  return JSON.parse(JSON.stringify(result).replace(/\d{1,2}:\d{2}:\d{2}(?: [AP]M)?/g, 'time'));
}

const folder = process.env.MCPX_CATALOGS;
if (folder !== undefined) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  const recorded = (file: string) => {
    const { tools, prompts, resources, resourceTemplates } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const lists = { tools, prompts, resources, resourceTemplates };
    return Object.fromEntries(Object.entries(lists).map(([list, items]) => [list, items ?? []])) as unknown as Lists;
  };

  test(`the ${files.length} catalogs of MCPX_CATALOGS, all behind one mcpx, come out as they went in`, async () => {
    const serverOf = (file: string) => basename(file, '.json');
    const mcpServers = Object.fromEntries(
      files.map((file) => [serverOf(file), { command: node, args: [fixture('replay.mjs'), join(folder, file)] }]),
    );
    const gateway = await gatewayOf({ mcpServers });
    const client = await talk(talkHttp(gateway));
    const all = await listAll(client);
    expectSound(all);
    for (const file of files)
      expect(withoutPages(listsOf(serverOf(file), all)), file).toEqual(withoutPages(recorded(file)));
    // Every exposed name leads to the tool that it stands for, and every URI to its resource.
    for (const { name, _meta } of all.tools) {
      const result = await client.request('tools/call', { name });
      expect(result.content[0].text).toMatch(/ ran /);
      expect(result.content[0].text.split(' ran ')[1]).toBe(_meta?.['dev.mcpx/name']);
    }
    for (const { uri, _meta } of all.resources) {
      const { contents } = await client.request('resources/read', { uri });
      expect(contents).toEqual([{ uri, text: expect.stringMatching(/ read /) }]);
      expect(contents[0].text.split(' read ')[1]).toBe(_meta?.['dev.mcpx/uri']);
    }
  });
}
