/** The APIs over which clients talk to models: how a request is read, and how an answer is written. */

/** A tool of mcpx as the client shows it to the model. */
export interface ShownTool {
  /** The name without the prefix of the client. */
  name: string;
  /** The name by which the model calls it. */
  called: string;
  namespace?: string | undefined;
  description: string;
  schema: any;
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

/** Clients put the name of the server before that of the tool. */
const ownName = (name: string) => /^(?:mcp_+)?mcpx_+(.+)$/.exec(name)?.[1];

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

export const DIALECTS = [anthropic, responses, gemini];
