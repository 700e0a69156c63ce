/** The executable in front of real MCP servers, through the official SDK client and the Inspector CLI. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hostTarget } from '../../scripts/project.mjs';
import { nodeLock } from '../../scripts/release/node.mjs';
import { oneMessagePerTurn } from '../setup/one-message-per-turn.ts';
import { EXECUTABLE, emptyPlace, fillCatalog, type Place, serverScript, start, WINDOWS } from './program.ts';

const node = process.execPath;

/** Three real servers, one of them dead. */
function realServers(place: Place): string {
  mkdirSync(join(place.cwd, 'files'));
  place.file('files/hello.txt', 'hello from a file');
  return place.file('mcp.json', {
    mcpServers: {
      everything: { command: node, args: [serverScript('server-everything')] },
      filesystem: { command: node, args: [serverScript('server-filesystem'), join(place.cwd, 'files')] },
      memory: {
        command: node,
        args: [serverScript('server-memory')],
        env: { MEMORY_FILE_PATH: join(place.cwd, 'memory.json') },
      },
      dead: { command: 'no-such-program-anywhere' },
    },
  });
}

interface Called {
  content: { type: string; text?: string; data?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

async function connect(place: Place, args: string[]) {
  const client = new Client({ name: 'e2e', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: EXECUTABLE,
    args,
    env: place.env,
    cwd: place.cwd,
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  await client.connect(transport);
  oneMessagePerTurn(transport);
  onTestFinished(() => client.close());
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = (await client.callTool({ name, arguments: args })) as Called;
    return { ...result, text: result.content.map(({ text }) => text ?? '').join('\n') };
  };
  return { client, transport, call, stderr: () => stderr };
}

describe('the SDK client over stdio', () => {
  test('sees two tools, a third for resources, and uses every live server through them', async () => {
    const place = emptyPlace();
    const config = realServers(place);
    await fillCatalog(place, config);
    const { client, call, stderr } = await connect(place, ['serve', config]);
    expect(client.getServerVersion()?.name).toBe('mcpx');

    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['inspect', 'exec', 'resources']);

    const servers = await call('inspect', {});
    expect(servers.text).toMatch(/^everything \(\d+ tools\)/m);
    expect(servers.text).toMatch(/^dead: not available: .*no-such-program-anywhere/m);

    const signature = await call('inspect', { server_name: 'filesystem', tool_name: 'read_text_file' });
    expect(signature.text).toContain('read_text_file(args: {');
    expect(signature.structuredContent).toMatchObject({ name: 'read_text_file', inputSchema: { type: 'object' } });

    const path = join(realpathSync(place.cwd), 'files', 'hello.txt');
    const read = await call('exec', { server_name: 'filesystem', tool_name: 'read_text_file', arguments: { path } });
    expect(read.text).toContain('hello from a file');

    const echo = await call('exec', { method: 'everything.echo', arguments: { message: 'across' } });
    expect(echo.text).toContain('across');

    const image = await call('exec', { server_name: 'everything', tool_name: 'get-tiny-image' });
    expect(image.content.some(({ type, data }) => type === 'image' && (data ?? '').length > 100)).toBe(true);

    const resources = await call('resources', { server_name: 'everything' });
    const [, uri = ''] = /^ {2}(demo:\S+|\S+:\/\/\S+)/m.exec(resources.text) ?? [];
    expect((await call('resources', { uri })).text.length).toBeGreaterThan(10);

    const entities = [{ name: 'mcpx', entityType: 'program', observations: ['one file'] }];
    await call('exec', { server_name: 'memory', tool_name: 'create_entities', arguments: { entities } });
    const graph = await call('exec', { server_name: 'memory', tool_name: 'read_graph' });
    expect(graph.structuredContent).toMatchObject({ entities });

    expect(stderr()).toContain('dead');
  });

  test('errors are results that teach', async () => {
    const place = emptyPlace();
    const { call } = await connect(place, ['serve', realServers(place)]);
    const wrong = await call('exec', { server_name: 'filesystem', tool_name: 'read_text_file', arguments: { pth: 1 } });
    expect(wrong.isError).toBe(true);
    expect(wrong.text).toContain('path');
    expect(wrong.text).toContain('path: string');
    expect(wrong.text).toContain('other parameters: tail?, head?');
    expect(wrong.text).toContain('example: exec {');

    const outside = await call('exec', {
      server_name: 'filesystem',
      tool_name: 'read_text_file',
      arguments: { path: '/etc/passwd' },
    });
    expect(outside.isError).toBe(true);
    expect(outside.text).toMatch(/denied/i);

    const dead = await call('exec', { server_name: 'dead', tool_name: 'x' });
    expect(dead.isError).toBe(true);
    expect(dead.text).toContain('no-such-program-anywhere');

    const typo = await call('exec', { server_name: 'memori', tool_name: 'read_graph' });
    expect(typo.text).toContain('did you mean "memory"?');
  });

  test('progress and cancellation pass through', async () => {
    const place = emptyPlace();
    const { client } = await connect(place, ['serve', realServers(place)]);
    const operation = (duration: number, steps: number) => ({
      name: 'exec',
      arguments: {
        server_name: 'everything',
        tool_name: 'trigger-long-running-operation',
        arguments: { duration, steps },
      },
    });
    const seen: number[] = [];
    await client.callTool(operation(0.4, 4), undefined, { onprogress: ({ progress }) => seen.push(progress) });
    expect(seen).toEqual([1, 2, 3, 4]);

    const abort = new AbortController();
    const cancelled = client.callTool(operation(30, 30), undefined, {
      signal: abort.signal,
      onprogress: () => abort.abort(),
    });
    await expect(cancelled).rejects.toThrow(/abort/i);
    await expect(client.callTool(operation(0.1, 1))).resolves.toMatchObject({ content: expect.any(Array) });
  });
});

test('a client that can be asked sees what a server offers to such clients, and is asked', async () => {
  const place = emptyPlace();
  const config = place.file('mcp.json', {
    mcpServers: { everything: { command: node, args: [serverScript('server-everything')] } },
  });
  const sampling = new Client({ name: 'e2e', version: '1.0.0' }, { capabilities: { sampling: {} } });
  const plain = new Client({ name: 'e2e', version: '1.0.0' });
  const asked: unknown[] = [];
  sampling.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
    asked.push(params.messages);
    return { model: 'e2e', role: 'assistant', content: { type: 'text', text: 'said by the client' } };
  });
  for (const client of [sampling, plain]) {
    await client.connect(
      new StdioClientTransport({
        command: EXECUTABLE,
        args: ['serve', config],
        env: place.env,
        cwd: place.cwd,
        stderr: 'ignore',
      }),
    );
    onTestFinished(() => client.close());
  }
  const text = async (client: Client, name: string, args: Record<string, unknown>) =>
    JSON.stringify((await client.callTool({ name, arguments: args })).content);
  const server = { server_name: 'everything' };
  expect(await text(sampling, 'inspect', server)).toContain('trigger-sampling-request(');
  // A list for other capabilities may be shown until the server has answered this client.
  await expect.poll(() => text(plain, 'inspect', server)).not.toContain('trigger-sampling-request(');
  const call = { ...server, tool_name: 'trigger-sampling-request', arguments: { prompt: 'hello', maxTokens: 10 } };
  expect(await text(sampling, 'exec', call)).toContain('said by the client');
  expect(asked).toHaveLength(1);
});

test('the SDK client works over HTTP', async () => {
  const place = emptyPlace();
  const config = realServers(place);
  await fillCatalog(place, config);
  const gateway = start(['serve', config, '--port', '0'], place);
  const [, url = ''] = (await gateway.wrote('stderr', /listening on (\S+)/)) as RegExpExecArray;
  const client = new Client({ name: 'e2e', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['inspect', 'exec', 'resources']);
  const result = await client.callTool({
    name: 'exec',
    arguments: { method: 'everything.echo', arguments: { message: 'over http' } },
  });
  expect(JSON.stringify(result.content)).toContain('over http');
});

describe('the Inspector CLI', () => {
  const inspector = resolve(
    import.meta.dirname,
    '../../node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js',
  );

  /** It needs a newer Node than mcpx's tests do: the pinned one that the build fetched. */
  const newNode = resolve(
    import.meta.dirname,
    '../../.cache/node',
    nodeLock().version,
    hostTarget(),
    WINDOWS ? 'node.exe' : 'node',
  );

  test('lists the tools and calls one', async () => {
    expect(existsSync(inspector)).toBe(true);
    const place = emptyPlace();
    const config = realServers(place);
    await fillCatalog(place, config);
    const execute = promisify(execFile);
    const inspect = async (...args: string[]) => {
      const words = [inspector, EXECUTABLE, 'serve', config, ...args];
      const { stdout } = await execute(newNode, words, { cwd: place.cwd, env: place.env });
      return JSON.parse(stdout);
    };
    const list = await inspect('--method', 'tools/list');
    expect(list.tools.map(({ name }: { name: string }) => name)).toEqual(['inspect', 'exec', 'resources']);
    const call = await inspect('--method', 'tools/call', '--tool-name', 'inspect', '--tool-arg', 'server_name=memory');
    expect(call.content[0].text).toContain('read_graph(');
  });
});
