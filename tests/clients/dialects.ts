/** The APIs over which clients talk to models: how a request is read, and how an answer is written. */

/** A tool of mcpx as the client shows it to the model. */
export interface ShownTool {
  /** The name without the prefix of the client. */
  name: string;
  /** The name by which the model calls it. */
  called: string;
  namespace?: string | undefined;
  description: string;
  /** Undefined while the client shows only the name; the model then has to search for the tool. */
  schema: any;
  /** The tool through which the model calls this one, for clients that do not declare it. */
  through?: string;
}

/** A result as the client shows it to the model. */
export interface ShownResult {
  text: string;
  /** Media types. */
  images: string[];
}

export interface Turn {
  tools: ShownTool[];
  results: ShownResult[];
  /** The whole request as text, for facts that may stand anywhere. */
  words: string;
}

/** Text, or the call of a tool of mcpx. */
export type Reply = string | { tool: string; input: unknown };

export interface Dialect {
  path: RegExp;
  read(body: any): Turn;
  write(reply: Reply, turn: Turn, body: any): { type: string; text: string };
}

/** The tools of mcpx, by their own names. */
const OWN = new Set(['inspect', 'exec', 'exec_read', 'resources']);

/** Most clients put the name of the server before that of the tool. */
const ownName = (name: string) => /^(?:mcp_+)?mcpx[_-]+(.+)$/.exec(name)?.[1] ?? (OWN.has(name) ? name : undefined);

const toolsOf = (all: { name: string; description?: string; schema: unknown; namespace?: string }[]): ShownTool[] =>
  all.flatMap(({ name: called, description = '', schema, namespace }) => {
    const name = namespace === undefined ? ownName(called) : called;
    return name === undefined ? [] : [{ name, called, namespace, description, schema }];
  });

function calledTool(turn: Turn, name: string): ShownTool {
  const tool = turn.tools.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`the client shows no "${name}"`);
  return tool;
}

const events = (all: { type: string; [key: string]: unknown }[]) => ({
  type: 'text/event-stream',
  text: all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
});

let serial = 0;

/** https://docs.anthropic.com/en/api/messages */
const anthropic: Dialect = {
  path: /\/messages$/,
  read: (body) => ({
    tools: toolsOf((body.tools ?? []).map((tool: any) => ({ ...tool, schema: tool.input_schema }))),
    results: (body.messages ?? [])
      .flatMap(({ content }: any) => (Array.isArray(content) ? content : []))
      .filter(({ type }: any) => type === 'tool_result')
      .map(({ content }: any): ShownResult => {
        const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
        return {
          text: parts.map(({ text = '' }: any) => text).join('\n'),
          images: parts.flatMap(({ source }: any) => (source === undefined ? [] : [source.media_type])),
        };
      }),
    words: JSON.stringify(body),
  }),
  write(reply, turn, { model }) {
    const isText = typeof reply === 'string';
    const start = isText
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: `toolu_${++serial}`, name: calledTool(turn, reply.tool).called, input: {} };
    const delta = isText
      ? { type: 'text_delta', text: reply }
      : { type: 'input_json_delta', partial_json: JSON.stringify(reply.input) };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${++serial}`, type: 'message', role: 'assistant', model, content: [], usage };
    const stop_reason = isText ? 'end_turn' : 'tool_use';
    return events([
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: start },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]);
  },
};

/** https://platform.openai.com/docs/api-reference/responses */
const responses: Dialect = {
  path: /\/responses$/,
  read: (body) => ({
    tools: toolsOf(
      (body.tools ?? []).flatMap((tool: any) =>
        tool.type === 'namespace' && ownName(`${tool.name}__x`) !== undefined
          ? tool.tools.map((one: any) => ({ ...one, schema: one.parameters, namespace: tool.name }))
          : tool.type === 'function'
            ? [{ ...tool, schema: tool.parameters }]
            : [],
      ),
    ),
    results: (body.input ?? [])
      .filter(({ type }: any) => type === 'function_call_output')
      .map(({ output }: any): ShownResult => {
        const parts = typeof output === 'string' ? [{ text: output }] : output;
        return {
          text: parts.map(({ text = '' }: any) => text).join('\n'),
          images: parts.flatMap(({ image_url }: any) => /^data:([^;]+);/.exec(image_url ?? '')?.[1] ?? []),
        };
      }),
    words: JSON.stringify(body),
  }),
  write(reply, turn) {
    const id = `r_${++serial}`;
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const content = [{ type: 'output_text', text: reply }];
    const called = typeof reply === 'string' ? undefined : calledTool(turn, reply.tool);
    const item =
      typeof reply === 'string'
        ? { type: 'message', role: 'assistant', id: `m_${id}`, content }
        : {
            type: 'function_call',
            id: `f_${id}`,
            call_id: `c_${id}`,
            name: called?.called,
            ...(called?.namespace && { namespace: called.namespace }),
            arguments: JSON.stringify(reply.input),
          };
    return events([
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.done', item },
      { type: 'response.completed', response: { id, usage } },
    ]);
  },
};

/** https://ai.google.dev/api/generate-content */
const gemini: Dialect = {
  path: /:(?:streamGenerateContent|generateContent|countTokens)$/,
  read: (body) => ({
    tools: toolsOf(
      (body.tools ?? [])
        .flatMap(({ functionDeclarations = [] }: any) => functionDeclarations)
        .map((tool: any) => ({ ...tool, schema: tool.parametersJsonSchema ?? tool.parameters })),
    ),
    results: (body.contents ?? []).flatMap(({ parts = [] }: any) => {
      const answers = parts.filter(({ functionResponse }: any) => functionResponse !== undefined);
      return answers.map(
        ({ functionResponse: { response, parts: inside = [] } }: any): ShownResult => ({
          text: Object.values(response).join('\n'),
          images: [...inside, ...parts].flatMap(({ inlineData }: any) => inlineData?.mimeType ?? []),
        }),
      );
    }),
    words: JSON.stringify(body),
  }),
  write(reply, turn) {
    const part =
      typeof reply === 'string'
        ? { text: reply }
        : { functionCall: { name: calledTool(turn, reply.tool).called, args: reply.input } };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    const content = { role: 'model', parts: [part] };
    const answer = { candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata, totalTokens: 1 };
    return { type: 'text/event-stream', text: `data: ${JSON.stringify(answer)}\r\n\r\n` };
  },
};

const partsOf = ({ content }: any): any[] => (typeof content === 'string' ? [{ text: content }] : (content ?? []));
const textOf = (message: any): string =>
  partsOf(message)
    .map(({ text = '' }) => text)
    .join('\n');

/** The answer of a client's own search for tools. */
const DECLARED = /<functions>/;

/** The tools that Qwen Code names in the prompt, and declares in the answer of its search only. */
function deferredTools({ tools = [], messages = [] }: any): ShownTool[] {
  if (!tools.some(({ function: tool }: any) => tool.name === 'tool_call')) return [];
  const answers = messages.filter(({ role }: any) => role === 'tool').map(textOf);
  const declared = answers.filter((text: string) => DECLARED.test(text)).join('\n');
  const schemas = [...declared.matchAll(/^<function>(.*)<\/function>$/gm)].map(([, json = '']) => JSON.parse(json));
  const named = [
    ...messages
      .map(textOf)
      .join('\n')
      .matchAll(/^- "(mcp__mcpx__\w+)": "(.*)"$/gm),
  ];
  return toolsOf(
    named.map(([, name = '', description = '']) => {
      const found = schemas.find((one) => one.name === name);
      return { name, description: found?.description ?? description, schema: found?.parametersJsonSchema };
    }),
  ).map((tool) => ({ ...tool, through: 'tool_call' }));
}

/** Returns the call by which a model runs a tool. */
function callOf(turn: Turn, { tool: name, input }: Exclude<Reply, string>): { name: string; arguments: string } {
  const tool = calledTool(turn, name);
  if (tool.through === undefined) return { name: tool.called, arguments: JSON.stringify(input) };
  const query = `select:${turn.tools.map(({ called }) => called).join(',')}`;
  if (tool.schema === undefined) return { name: 'tool_search', arguments: JSON.stringify({ query }) };
  return { name: tool.through, arguments: JSON.stringify({ name: tool.called, arguments: input }) };
}

/** https://platform.openai.com/docs/api-reference/chat */
const chat: Dialect = {
  path: /\/chat\/completions$/,
  read: (body) => ({
    tools: [
      ...toolsOf((body.tools ?? []).map(({ function: tool }: any) => ({ ...tool, schema: tool.parameters }))),
      ...deferredTools(body),
    ],
    results: (body.messages ?? []).reduce((all: ShownResult[], message: any) => {
      const text = textOf(message);
      if (message.role === 'tool' && !DECLARED.test(text)) all.push({ text, images: [] });
      // Images are not allowed in the message of a tool, so some clients add a message of the user.
      const urls = partsOf(message).map(({ image_url }) => image_url?.url ?? '');
      all.at(-1)?.images.push(...urls.flatMap((url) => /^data:([^;]+);/.exec(url)?.[1] ?? []));
      return all;
    }, []),
    words: JSON.stringify(body),
  }),
  write(reply, turn, { model, stream }) {
    const isText = typeof reply === 'string';
    const call = !isText && { id: `call_${++serial}`, type: 'function', function: callOf(turn, reply) };
    const message = { role: 'assistant', content: isText ? reply : null };
    const finish_reason = isText ? 'stop' : 'tool_calls';
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const head = { id: `chat_${++serial}`, created: 1, model };
    if (stream !== true) {
      const whole = { ...message, ...(call && { tool_calls: [call] }) };
      const body = {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: whole, finish_reason }],
        usage,
      };
      return { type: 'application/json', text: JSON.stringify(body) };
    }
    const delta = { ...message, ...(call && { tool_calls: [{ index: 0, ...call }] }) };
    const chunks = [
      { choices: [{ index: 0, delta, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason }], usage },
    ].map((chunk) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...chunk })}\n\n`);
    return { type: 'text/event-stream', text: `${chunks.join('')}data: [DONE]\n\n` };
  },
};

export const DIALECTS = [anthropic, responses, gemini, chat];
