/** `inspect {query}` as a model uses it: what is found, in how many tokens, and what may not be. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import { McpxError } from '../../../src/errors.ts';
import { PATIENCE } from '../../setup/until.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const text = { type: 'string' };
const object = (properties: Record<string, unknown>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const SCRIPTS: Record<string, Script> = {
  slack: {
    tools: [
      {
        name: 'slack_post_message',
        description: 'Post a new message to a channel.',
        inputSchema: object({ channel: text, text }),
      },
      { name: 'slack_list_channels', description: 'List the channels.' },
    ],
  },
  files: {
    tools: [
      { name: 'read_file', description: 'Read a file as text.', inputSchema: object({ path: text }) },
      { name: 'delete_file', description: 'Delete a file for good.', inputSchema: object({ path: text }) },
      { name: 'create_directory', description: 'Create a directory.', inputSchema: object({ path: text }) },
    ],
  },
  mail: {
    tools: [{ name: 'send_email', description: 'Send an email.', inputSchema: object({ to: text, body: text }) }],
  },
};

function open(scripts = SCRIPTS, options: Parameters<typeof createWorld>[1] = {}) {
  const world = createWorld(scripts, options);
  const front = openFront('compact', world.deps, { key: 'k', notify: () => undefined });
  const inspect = async (args: Record<string, unknown>) => {
    const params = { name: 'inspect', arguments: args };
    const signal = AbortSignal.timeout(PATIENCE);
    const result = (await front.request({ method: 'tools/call', params }, { signal })) as {
      content: { text: string }[];
      isError?: boolean;
      structuredContent?: unknown;
    };
    return { ...result, text: result.content.map((block) => block.text).join('') };
  };
  return { ...world, inspect };
}

describe('inspect with a query', () => {
  const FOUND: [query: string, first: string][] = [
    ['write something in the chat', 'slack.slack_post_message({'],
    ['make a new folder', 'files.create_directory('],
    ['帮我给客户发一封邮件', 'mail.send_email('],
    ['删掉这个文件', 'files.delete_file('],
    ['READ_FILE', 'files.read_file('],
    ['emial', 'mail.send_email('],
  ];
  test.each(FOUND)('%s → %s', async (query, first) => {
    const { text: answer } = await open().inspect({ query });
    expect(answer.slice(0, first.length)).toBe(first);
  });

  test('a tool without a description is shown with its annotated title', async () => {
    const { inspect } = open({
      gitlab: { tools: [{ name: 'mr_notes', annotations: { title: 'Merge Request Notes' } }] },
    });
    expect((await inspect({ query: 'merge request notes' })).text).toContain('// Merge Request Notes');
  });

  test('one tool is shown with its title where that says more than its name and description', async () => {
    const tools = [
      { name: 'mr_notes', description: 'Remarks.', annotations: { title: 'Merge Request Notes' } },
      { name: 'approve', description: 'Approves it.', title: 'Approve' },
    ];
    const { inspect } = open({ gitlab: { tools } });
    expect((await inspect({ method: 'gitlab.mr_notes' })).text).toContain('title: Merge Request Notes\nRemarks.');
    expect((await inspect({ method: 'gitlab.approve' })).text).not.toContain('title');
  });

  test('within a server only its tools are found', async () => {
    const { inspect } = open();
    const { text: answer } = await inspect({ query: 'send a message', server_name: 'mail' });
    expect(
      answer
        .trimEnd()
        .split('\n')
        .every((line) => line.startsWith('mail.')),
    ).toBe(true);
    expect((await inspect({ query: 'send a message', method: 'mail' })).text).toBe(answer);
  });

  test('with a tool named the tool is shown, whatever the query', async () => {
    const { text: answer } = await open().inspect({ server_name: 'files', tool_name: 'read_file', query: 'email' });
    expect(answer).toMatch(/^read_file\(/);
  });

  test('an unknown server is an error with the nearest name', async () => {
    const { isError, text: answer } = await open().inspect({ query: 'x', server_name: 'slak' });
    expect(isError).toBe(true);
    expect(answer).toContain('did you mean "slack"?');
  });

  test('what may not be used is not found, and nothing tells that it exists', async () => {
    const denied = open(SCRIPTS, { tools: { deny: ['delete_file'] } });
    const files = { ...SCRIPTS.files, tools: SCRIPTS.files?.tools?.filter(({ name }) => name !== 'delete_file') ?? [] };
    const absent = open({ ...SCRIPTS, files });
    for (const query of ['delete a file', 'delete_file', 'zzzz']) {
      const answer = await denied.inspect({ query });
      expect(answer.text).not.toContain('delete_file(');
      expect(answer).toEqual(await absent.inspect({ query }));
    }
  });

  test('says so when nothing fits, with the servers that there are', async () => {
    const { text: answer, isError } = await open().inspect({ query: 'xyzzy qwrtp' });
    expect(isError).toBeUndefined();
    expect(answer).toBe('no tool for "xyzzy qwrtp"; the servers are: files, mail, slack\n');
    expect((await open({}).inspect({ query: 'mail' })).text).toBe(
      'no tool for "mail": no server is configured yet: `mcpx init` imports those of your clients, `mcpx add` adds one\n',
    );
  });

  test('names the nearest tools in one line where they cover little of the question', async () => {
    const { text: answer } = await open().inspect({ query: 'text of the xyzzy about qwrtp before frobnication' });
    expect(answer).toMatch(
      /^no tool for "text of the xyzzy about qwrtp before frobnication"; nearest: [a-z]+\.\w+\([\w, ]*\)(?:, [a-z]+\.\w+(?:\([\w, ]*\))?)+\n$/,
    );
  });

  test('shows as many tools as "limit" says', async () => {
    const tools = Array.from({ length: 40 }, (_, i) => ({ name: `send_${i}`, description: 'Send a message.' }));
    const { inspect } = open({ chat: { tools } });
    for (const limit of [1, 2, '3', 25]) {
      const { text: answer } = await inspect({ query: 'send a message', limit });
      expect(answer.trimEnd().split('\n')).toHaveLength(Number(limit));
    }
    expect((await inspect({ query: 'send', limit: 0 })).text).toContain('"limit" must be a whole number');
  });

  test('gives tools for each act that a question asks for', async () => {
    const { text: answer } = await open().inspect({ query: 'read the file and send it by email', limit: 2 });
    const names = answer.split('\n').map((line) => line.split('(')[0]);
    expect(names).toEqual(expect.arrayContaining(['files.read_file', 'mail.send_email']));
  });

  test('the first three have their signature, sentence and result, the others names or parameters', async () => {
    const outputSchema = object({ lines: { type: 'array', items: text } });
    const tools = Array.from({ length: 5 }, (_, i) => ({
      name: `read_log_${i}`,
      description: 'Read a log.',
      inputSchema: object({ path: text }),
      outputSchema,
    }));
    const { text: answer } = await open({ logs: { tools } }).inspect({ query: 'read a log' });
    const lines = answer.trimEnd().split('\n');
    expect(lines.slice(0, 3)).toEqual(
      [0, 1, 2].map((i) => `logs.read_log_${i}({ path: string }): { lines: string[] } // Read a log.`),
    );
    expect(lines.slice(3)).toEqual(['logs.read_log_3(path)', 'logs.read_log_4(path)']);
  });

  test('names the servers that could not be searched', async () => {
    const broken: Script = {
      connect: () => Promise.reject(new McpxError('unreachable', 'server "broken" is gone')),
    };
    const { text: answer } = await open({ ...SCRIPTS, broken }).inspect({ query: 'send an email' });
    expect(answer.trimEnd().split('\n').at(-1)).toBe('not searched: broken: not available: server "broken" is gone');
  });

  const ODD: [what: string, query: unknown][] = [
    ['ten thousand letters', 'send email '.repeat(1000)],
    ['ten thousand Chinese letters', '发送邮件'.repeat(2500)],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['signs only', '?!… 🙂'],
    ['stop words only', 'what is it'],
    ['control characters', 'mail\u0000\u001b[31m'],
    ['a lone surrogate', 'mail \ud800'],
  ];
  test.each(ODD)('%s are answered', async (_, query) => {
    const { isError, text: answer } = await open().inspect({ query });
    expect(isError).toBeUndefined();
    expect(answer.length).toBeGreaterThan(0);
    expect(answer.length).toBeLessThan(3000);
  });

  test('an empty query is no query, and another type is refused', async () => {
    const { inspect } = open();
    expect((await inspect({ query: '' })).text).toBe((await inspect({})).text);
    expect((await inspect({ query: 5 })).text).toBe('error: "query" must be a string\n');
  });

  test('tools called like parts of objects are found like others', async () => {
    const tools = ['__proto__', 'constructor', 'hasOwnProperty'].map((name) => ({
      name,
      description: `About ${name}.`,
    }));
    const { inspect } = open({ odd: { tools } });
    expect((await inspect({ query: 'constructor' })).text).toMatch(/^odd\.constructor\(\)/);
    expect((await inspect({ query: '__proto__' })).text).toMatch(/^odd\.__proto__\(\)/);
  });

  test('at most ten tools in at most 600 tokens, the first with their signatures', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`parameter_${i}`, { type: ['string', 'null'] }]),
    );
    const tools = Array.from({ length: 40 }, (_, i) => ({
      name: `send_message_number_${i}`,
      description: `Send a message of kind ${i} to everybody who wants to hear it, wherever they are and whatever they do.`,
      inputSchema: i % 2 === 0 ? { type: 'object', properties } : object({ to: text }),
    }));
    const { text: answer } = await open({ chat: { tools } }).inspect({ query: 'send a message' });
    const lines = answer.trimEnd().split('\n');
    expect(lines).toHaveLength(10);
    expect(encode(answer).length).toBeLessThanOrEqual(600);
    expect(lines[0]).toContain('(');
  });

  test('as JSON Schema is wanted, parameters are shown by name; always structured, the names come as data', async () => {
    const settings = {
      ...DEFAULTS,
      compression: { ...DEFAULTS.compression, schema: 'json' as const },
      front: { ...DEFAULTS.front, structured: 'always' as const },
    };
    const { text: answer, structuredContent } = await open(SCRIPTS, { settings }).inspect({ query: 'send an email' });
    expect(answer).toContain('mail.send_email(to, body) // Send an email.');
    expect(structuredContent).toMatchObject({
      tools: expect.arrayContaining([{ server: 'mail', name: 'send_email', description: 'Send an email.' }]),
    });
  });
});
