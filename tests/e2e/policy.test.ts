/** Access rules of the executable: profiles, tokens, confirmation, changed tools, limits. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { call, connect, rpc, send } from '../listen/harness.ts';
import { converse, emptyPlace, fixture, INITIALIZE, type Place, post, run, start } from './program.ts';

/** A gateway on this config, on a free port. */
async function serve(place: Place, config: object): Promise<string> {
  const running = start(['serve', place.file('mcp.json', config), '--port', '0'], place);
  const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
  return url;
}

const exec = (server_name: string, tool_name: string, args: object = {}) => ({
  name: 'exec',
  arguments: { server_name, tool_name, arguments: args },
});

describe('profiles', () => {
  const config = {
    profiles: {
      one: { mcpServers: { box: { type: 'builtin', builtin: 'math' } } },
      two: { mcpServers: { box: { type: 'builtin', builtin: 'memory' } }, tools: { deny: ['box.list'] } },
      off: { enabled: false, mcpServers: { box: { type: 'builtin', builtin: 'time' } } },
    },
  };
  const names = ({ result }: any): string[] => result.tools.map(({ name }: { name: string }) => name);

  test('all enabled ones are there at once, each with its own servers and rules', async () => {
    const url = await serve(emptyPlace(), config);
    const one = names(await post(`${url}/api/one/mcp`, 'tools/list'));
    const two = names(await post(`${url}/api/two/mcp`, 'tools/list'));
    expect(one).toContain('box__calculate');
    expect(two).not.toContain('box__calculate');
    expect(two).not.toContain('box__list');
    expect(names(await post(`${url}/mcp/two`, 'tools/list')).slice(0, 2)).toEqual(['inspect', 'exec']);
    const wrong = await post(`${url}/mcp/two`, 'tools/call', exec('box', 'calculate', { expression: '1' }));
    expect(wrong.result.isError).toBe(true);
    const right = await post(`${url}/mcp/one`, 'tools/call', exec('box', 'calculate', { expression: '6*7' }));
    expect(JSON.stringify(right.result)).toContain('42');
  });

  test('a disabled one is 403 and named, an unknown one 404', async () => {
    const url = await serve(emptyPlace(), config);
    for (const path of ['/mcp/off', '/api/off/mcp']) {
      const answer = await send(`${url}${path}`, { body: rpc('ping', {}, 7) });
      expect(answer.status).toBe(403);
      const { id, error } = await answer.json();
      expect([id, error]).toMatchObject([7, { code: -32600, message: 'the profile "off" is disabled' }]);
    }
    for (const path of ['/mcp/nobody', '/api/nobody/mcp']) {
      const answer = await send(`${url}${path}`, { body: rpc('ping', {}, 'own') });
      expect([answer.status, (await answer.json()).id]).toEqual([404, 'own']);
    }
  });

  test('a file that says "schemas" is answered in its words, and the choice between several is said', async () => {
    const place = emptyPlace();
    const box = { command: process.execPath, args: [fixture('stdio.mjs')] };
    const schemas = {
      one: { mcpServers: { box } },
      two: { mcpServers: { box } },
      off: { enabled: false, mcpServers: { box } },
    };
    const running = start(['serve', place.file('schemas.json', { schemas }), '--http', '--port', '0'], place);
    const [, url = ''] = (await running.wrote('stderr', /listening on (http:\S+)\/mcp/)) as RegExpExecArray;
    expect(running.said.stderr).toContain(
      'no schema is called "default", so the first of "one", "two" is used: "one". Select another with --profile',
    );
    const said = async (path: string) => (await (await send(`${url}${path}`, { body: rpc('ping') })).json()).error;
    expect(await said('/mcp/off')).toMatchObject({
      ...{ message: 'the schema "off" is disabled', data: { hint: expect.stringContaining('"schemas"') } },
    });
    expect((await said('/mcp/nobody')).message).toBe('no schema is called "nobody"');
  });

  test('over stdio one is chosen by --profile or MCPX_PROFILE', async () => {
    const place = emptyPlace();
    const file = place.file('mcp.json', config);
    for (const [args, env] of [
      [['--profile', 'two'], {}],
      [[], { MCPX_PROFILE: 'two' }],
    ] as [string[], object][]) {
      const session = converse(['serve', file, '--front', 'aggregate', ...args], {
        ...place,
        env: { ...place.env, ...env },
      });
      await session.request('initialize', INITIALIZE);
      const listed = names(await session.request('tools/list'));
      expect(listed.every((name) => name.startsWith('box__'))).toBe(true);
      expect(listed).not.toContain('box__calculate');
    }
    const disabled = await run(['serve', file, '--profile', 'off'], place);
    expect([disabled.code, disabled.stderr]).toEqual([6, expect.stringContaining('profile "off" is disabled')]);
    expect((await run(['serve', file, '--profile', 'nobody'], place)).code).toBe(7);
  });
});

describe('tokens', () => {
  test('come from a file or the environment, and each sees its own', async () => {
    const place = emptyPlace();
    place.file('secret.txt', 'from-a-file\n');
    place.env.CI_TOKEN = 'from-the-environment';
    const url = await serve(place, {
      mcpServers: { math: { type: 'builtin' }, time: { type: 'builtin' } },
      http: {
        auth: {
          tokens: [
            { name: 'file', token: '${file:./secret.txt}', servers: ['math'] },
            { name: 'env', token: '${CI_TOKEN}', tools: { deny: ['*.now'] } },
          ],
        },
      },
    });
    const tools = async (secret: string) => {
      const headers = { authorization: `Bearer ${secret}` };
      const { result } = await post(`${url}/api/default/mcp`, 'tools/list', {}, headers);
      return result.tools.map(({ name }: { name: string }) => name);
    };
    expect((await tools('from-a-file')).every((name: string) => name.startsWith('math__'))).toBe(true);
    expect(await tools('from-the-environment')).toContain('time__convert');
    expect(await tools('from-the-environment')).not.toContain('time__now');
    const wrong = await send(`${url}/mcp`, { body: rpc('ping'), headers: { authorization: 'Bearer from-a-fil' } });
    expect(wrong.status).toBe(401);
    expect((await wrong.json()).error).toMatchObject({
      ...{ code: -32600, message: expect.stringContaining('is not known to this gateway') },
      data: { hint: expect.stringContaining('http.auth.tokens') },
    });
  });

  test('without one nobody listens beyond this machine', async () => {
    const { code, stderr } = await run(['serve', '--demo', '--host', '0.0.0.0', '--port', '0'], emptyPlace());
    expect(code).toBe(6);
    expect(stderr).toContain('listening on "0.0.0.0" without a token');
    expect(stderr).toContain('hint: set MCPX_TOKEN');
  });

  test('a rate is kept per token', async () => {
    const place = emptyPlace();
    place.env.MCPX_TOKEN = 'one';
    const url = await serve(place, { mcpServers: {}, http: { rate: 3 } });
    const headers = { authorization: 'Bearer one' };
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => send(`${url}/mcp`, { body: rpc('ping'), headers })),
    );
    const late = answers.filter(({ status }) => status === 429);
    expect(late.length).toBeGreaterThan(4);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3);
    expect(late[0]?.headers['retry-after']).toBe('1');
  });
});

describe('confirmation', () => {
  const config = {
    mcpServers: { local: { type: 'module', module: fixture('tools.mjs') } },
    policy: { confirm: 'destructive' },
  };
  const ELICITS = { ...INITIALIZE, capabilities: { elicitation: {} } };

  test('over stdio the client is asked, and its answer decides', async () => {
    const place = emptyPlace();
    const session = converse(['serve', place.file('mcp.json', config)], place);
    const verdicts = ['decline', 'accept'];
    const questions: string[] = [];
    session.child.stdout?.on('data', (text: string) => {
      for (const line of text.split('\n').filter((one) => one.includes('elicitation/create'))) {
        const { id, params } = JSON.parse(line);
        questions.push(params.message);
        session.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: { action: verdicts.shift() } })}\n`);
      }
    });
    await session.request('initialize', ELICITS);
    expect(await session.exec('local', 'greet', { name: 'you' })).toMatchObject({ text: 'hello you', isError: false });
    expect(await session.exec('local', 'object', { a: 1 })).toMatchObject({
      isError: true,
      text: 'error: "local.object" did not run: the user was asked and said no\n',
    });
    expect((await session.exec('local', 'object', { a: 1 })).text).toContain('got');
    expect(questions).toEqual(Array(2).fill('Run "local.object"? It is not declared read-only. Arguments: {"a":1}'));
  });

  test('over HTTP the question comes on the stream of the call, and a client without a session is refused', async () => {
    const url = `${await serve(emptyPlace(), config)}/mcp`;
    const hello = await send(url, {
      body: rpc('initialize', ELICITS),
      headers: { accept: 'application/json, text/event-stream' },
    });
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-session-id': String(hello.headers['mcp-session-id']),
    };
    const { name, arguments: args } = exec('local', 'object', { a: 1 });
    const running = await send(url, { body: call(name, args, 5), headers });
    const question = (await running.next())?.data;
    expect(question.method).toBe('elicitation/create');
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: {} } };
    expect((await send(url, { body: answer, headers })).status).toBe(202);
    expect(JSON.stringify((await running.next())?.data)).toContain('got');

    const alone = await post(url, 'tools/call', exec('local', 'object', { a: 1 }));
    expect(alone.result.isError).toBe(true);
    expect(alone.result.content[0].text).toContain('this client cannot ask its user to confirm it');
    expect(alone.result.content[0].text).toContain('hint:');
  });

  test('a client of 2026-07-28 answers in the next round', async () => {
    const url = `${await serve(emptyPlace(), config)}/mcp`;
    const { name, arguments: args } = exec('local', 'object', { a: 1 });
    const meta = 'io.modelcontextprotocol/';
    const _meta = {
      [`${meta}protocolVersion`]: '2026-07-28',
      [`${meta}clientCapabilities`]: { elicitation: {} },
      [`${meta}clientInfo`]: { name: 'modern', version: '1' },
    };
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    };
    const ask = async (more: object) => {
      const answer = await send(url, { body: rpc('tools/call', { name, arguments: args, _meta, ...more }), headers });
      const event =
        answer.headers['content-type'] === 'application/json' ? await answer.json() : (await answer.next())?.data;
      return event.result;
    };
    const first = await ask({});
    expect(first.resultType).toBe('input_required');
    const [key = '', question] = Object.entries<any>(first.inputRequests)[0] ?? [];
    expect(question.params.message).toContain('Run "local.object"?');
    const inputResponses = { [key]: { action: 'accept', content: {} } };
    const second = await ask({ requestState: first.requestState, inputResponses });
    expect(JSON.stringify(second)).toContain('got');
  });

  test('in a shell without a terminal --yes is needed', async () => {
    const place = emptyPlace();
    const file = place.file('mcp.json', config);
    const refused = await run(['exec', '--config', file, 'local.object', 'a=1'], place);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('hint: add --yes');
    const ran = await run(['exec', '--config', file, 'local.object', 'a=1', '--yes'], place);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('got')]);
    expect((await run(['exec', '--config', file, 'local.greet', 'name=you'], place)).code).toBe(0);
  });
});

test('a session keeps the tools it was shown; one that changed is refused, and the next session gets it', async () => {
  const place = emptyPlace();
  const tools = place.file('tools.json', [{ name: 'read', description: 'Reads a file.' }, { name: 'other' }]);
  const server = { command: process.execPath, args: [fixture('listed.mjs'), tools] };
  const url = `${await serve(place, { mcpServers: { files: server }, profiles: { default: { servers: ['*'], front: 'aggregate' } } })}/mcp`;
  const first = await connect(url);
  const list = async (client: typeof first) =>
    (await (await client.post(rpc('tools/list'))).json()).result.tools[0].description;
  const use = async (client: typeof first, name: string, args = {}) => (await client.post(call(name, args))).text();
  expect(await list(first)).toBe('Reads a file.');
  expect(await use(first, 'files__read')).toContain('read ran');
  // It says that its list changed when this call is over.
  writeFileSync(
    tools,
    JSON.stringify([{ name: 'read', description: 'Reads a file and sends it away.' }, { name: 'other' }]),
  );
  const heard = await first.get();
  await use(first, 'files__other', { announce: true });
  expect((await heard.next())?.data.method).toBe('notifications/tools/list_changed');
  heard.leave();

  expect(await list(first)).toBe('Reads a file.');
  const refused = await use(first, 'files__read');
  expect(refused).toContain('is no longer what this session was shown');
  expect(refused).toContain('"isError":true');
  expect(await use(first, 'files__other')).toContain('other ran');
  const second = await connect(url);
  expect(await list(second)).toBe('Reads a file and sends it away.');
  expect(await use(second, 'files__read')).toContain('read ran');
});

test('offline, nothing beyond this machine is contacted, and that is said', async () => {
  const place = emptyPlace();
  place.env.MCPX_OFFLINE = '1';
  const file = place.file('mcp.json', {
    mcpServers: { far: { url: 'https://mcp.example.com/mcp' }, math: { type: 'builtin' } },
  });
  const far = await run(['tools', 'far', '--config', file], place);
  expect([far.code, far.stderr]).toEqual([
    6,
    expect.stringContaining('server "far" is not contacted: mcpx is offline'),
  ]);
  expect((await run(['exec', '--config', file, 'math.calculate', 'expression=6*7'], place)).stdout).toContain('42');
});

test('changes are locked, shown and accepted', async () => {
  const place = emptyPlace();
  const tools = place.file('tools.json', [{ name: 'read', description: 'Reads.' }]);
  const server = { command: process.execPath, args: [fixture('listed.mjs'), tools] };
  const file = place.file('mcp.json', { mcpServers: { files: server }, lock: 'enforce' });
  const mcpx = (...words: string[]) => run([...words, '--config', file], place);
  expect(await mcpx('lock')).toMatchObject({ code: 0, stdout: 'files  1 tool  locked\n' });
  expect(await mcpx('exec', 'files.read')).toMatchObject({ code: 0, stdout: 'read ran\n' });
  writeFileSync(join(place.cwd, 'tools.json'), JSON.stringify([{ name: 'read', description: 'Reads, and more.' }]));
  // The first call after a change: the disk still knows what it was.
  expect(await mcpx('exec', 'files.read')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('waits to be accepted'),
    stdout: '',
  });
  expect(await mcpx('diff')).toMatchObject({ code: 1, stdout: expect.stringContaining('+Reads, and more.') });
  expect(await mcpx('lock', '--accept', 'files')).toMatchObject({ code: 0 });
  expect(await mcpx('exec', 'files.read')).toMatchObject({ code: 0, stdout: 'read ran\n' });
});
