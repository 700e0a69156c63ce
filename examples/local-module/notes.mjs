/** Notes that are kept for as long as the server runs. Each exported tool has a name, a description, a schema and a handler. */
const notes = [];

export const tools = [
  {
    name: 'add_note',
    description: 'Keep a note for as long as this server runs.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    handler: ({ text }) => `note ${notes.push(text)}: ${text}`,
  },
  {
    name: 'list_notes',
    description: 'List the notes.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
    handler: () => ({ notes }),
  },
];
