/** `server.json` files of the MCP registry: the offers in them, the values that they ask for, and the entries. */
import { describe, expect, test } from 'vitest';
import { checkValues, missingError, missingInputs } from '../../src/server-packages/package-input.ts';
import { offerEntry, offerInputs } from '../../src/server-packages/registry-entry.ts';
import { readRegistryFile } from '../../src/server-packages/registry-file.ts';

const read = (fields: Record<string, unknown>) =>
  readRegistryFile({ name: 'io.example/notes', version: '1.2.3', ...fields }, 'server.json');

function entryFrom(fields: Record<string, unknown>, values: Record<string, string[]> = {}) {
  const [offer] = read(fields).offers;
  if (offer === undefined) throw new Error('no offer');
  return offerEntry(offer, new Map(Object.entries(values)));
}

const pack = (registryType: string, fields: Record<string, unknown> = {}) => ({
  packages: [{ registryType, identifier: 'notes-mcp', version: '1.0.0', transport: { type: 'stdio' }, ...fields }],
});

const snake = {
  packages: [
    {
      registry_type: 'npm',
      identifier: '@x/notes',
      version: '1.0.2',
      package_arguments: [{ type: 'positional', value_hint: 'folder', is_required: true, is_repeated: true }],
      environment_variables: [
        { name: 'LEVEL', default: 'info' },
        { name: 'KEY', is_required: true, is_secret: true },
      ],
    },
  ],
};

test.each<[string, Record<string, unknown>, Record<string, string[]>, unknown]>([
  ['npm', pack('npm'), {}, { command: 'npx', args: ['-y', 'notes-mcp@1.0.0'] }],
  ['pypi', pack('pypi'), {}, { command: 'uvx', args: ['notes-mcp@1.0.0'] }],
  [
    'nuget',
    pack('nuget', { packageArguments: [{ type: 'positional', value: 'mcp' }] }),
    {},
    { command: 'dnx', args: ['notes-mcp@1.0.0', '--yes', '--', 'mcp'] },
  ],
  [
    'oci',
    pack('oci', { identifier: 'x/notes' }),
    {},
    { command: 'docker', args: ['run', '-i', '--rm', 'x/notes:1.0.0'] },
  ],
  [
    'an image with its tag',
    pack('oci', { identifier: 'ghcr.io/x/notes:2', version: undefined, runtimeHint: 'podman' }),
    {},
    { command: 'podman', args: ['run', '-i', '--rm', 'ghcr.io/x/notes:2'] },
  ],
  [
    'an image of another registry',
    pack('oci', { identifier: 'x/notes', registryBaseUrl: 'https://ghcr.io' }),
    {},
    { command: 'docker', args: ['run', '-i', '--rm', 'ghcr.io/x/notes:1.0.0'] },
  ],
  [
    'another npm registry',
    pack('npm', { registryBaseUrl: 'https://npm.example.com' }),
    {},
    { command: 'npx', args: ['-y', 'notes-mcp@1.0.0'], env: { npm_config_registry: 'https://npm.example.com' } },
  ],
  [
    'another index of Python',
    pack('pypi', { registryBaseUrl: 'https://pypi.example.com' }),
    {},
    { command: 'uvx', args: ['--index-url', 'https://pypi.example.com', 'notes-mcp@1.0.0'] },
  ],
  [
    'keys in snake_case',
    snake,
    { 'set:folder': ['/a', '/b'], 'env:KEY': ['k'] },
    { command: 'npx', args: ['-y', '@x/notes@1.0.2', '/a', '/b'], env: { LEVEL: 'info', KEY: 'k' } },
  ],
  [
    'arguments of every form',
    pack('npm', {
      runtimeArguments: [
        { type: 'named', name: '--yes' },
        { type: 'named', name: '--package', value: 'x' },
      ],
      packageArguments: [
        { type: 'positional', value: 'start' },
        { type: 'named', name: '--port', format: 'number', description: 'Port' },
        { type: 'named', name: '--host=', default: 'localhost' },
        { type: 'named', name: '--verbose', format: 'boolean', description: 'More output' },
        { type: 'named', name: '--tag', isRepeated: true, description: 'Tags' },
      ],
    }),
    { 'set:verbose': ['true'], 'set:tag': ['a', 'b'] },
    {
      command: 'npx',
      args: [
        '--yes',
        '--package',
        'x',
        'notes-mcp@1.0.0',
        'start',
        '--host=localhost',
        '--verbose',
        '--tag',
        'a',
        '--tag',
        'b',
      ],
    },
  ],
  [
    'parts in braces',
    pack('oci', {
      identifier: 'x/db',
      runtimeArguments: [
        { type: 'named', name: '-i' },
        {
          type: 'named',
          name: '--mount',
          value: 'type=bind,src={from},dst={to}',
          isRequired: true,
          variables: { from: { format: 'filepath', isRequired: true }, to: { default: '/project' } },
        },
        { type: 'named', name: '--label', value: 'a={b}', variables: { b: {} } },
      ],
      environmentVariables: [{ name: 'URL', value: 'db://{user}@{host}', variables: { user: { isRequired: true } } }],
    }),
    { 'set:from': ['/data'], 'set:user': ['ada'] },
    {
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'URL', '--mount', 'type=bind,src=/data,dst=/project', 'x/db:1.0.0'],
      env: { URL: 'db://ada@{host}' },
    },
  ],
  [
    'a URL',
    {
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://{tenant}.example.com/mcp',
          variables: { tenant: { isRequired: true } },
          headers: [
            { name: 'X-Key', isRequired: true, isSecret: true },
            { name: 'X-Region', default: 'eu' },
            { name: 'X-More' },
          ],
        },
      ],
    },
    { 'set:tenant': ['acme'], 'header:x-key': ['k'] },
    { type: 'http', url: 'https://acme.example.com/mcp', headers: { 'X-Key': 'k', 'X-Region': 'eu' } },
  ],
  [
    'a URL of the older transport',
    { remotes: [{ transport_type: 'sse', url: 'https://example.com/sse' }] },
    {},
    { type: 'sse', url: 'https://example.com/sse' },
  ],
])('%s', (_name, fields, values, entry) => {
  expect(entryFrom(fields, values)).toEqual(entry);
});

describe('a server.json', () => {
  test('may be wrapped, as the registry answers', () => {
    const { name, offers } = readRegistryFile({ server: { name: 'io.x/y.z', ...pack('npm') }, _meta: {} }, 'f');
    expect([name, offers.length]).toEqual(['y.z', 1]);
  });

  test.each<[unknown, RegExp, RegExp]>([
    [[], /it is not an object/, /server\.json/],
    [{ mcpServers: {} }, /it has no "name"/, /mcpx import f/],
    [{ name: 'a/b' }, /neither "packages" nor "remotes"/, /server\.json/],
    [
      { name: 'a/b', packages: [{ registryType: 'cargo', identifier: 'x' }] },
      /neither "packages" nor "remotes"/,
      /server\.json/,
    ],
  ])('%j is refused', (data, message, hint) => {
    expect(() => readRegistryFile(data, 'f')).toThrow(
      expect.objectContaining({
        code: 'config',
        message: expect.stringMatching(message),
        hint: expect.stringMatching(hint),
      }),
    );
  });
});

describe('values', () => {
  const inputs = offerInputs(read(snake).offers[0] as never);

  test('that are required and missing are named with their options', () => {
    expect(missingInputs(inputs, new Map()).map(({ key }) => key)).toEqual(['folder', 'KEY']);
    expect(
      missingInputs(
        inputs,
        new Map([
          ['set:folder', ['']],
          ['env:KEY', ['x']],
        ]),
      ),
    ).toHaveLength(1);
    const error = missingError('server "x"', missingInputs(inputs, new Map()), 'mcpx add x f');
    expect([error.message, error.hint]).toEqual([
      'server "x" needs folder, KEY',
      'mcpx add x f --set folder=… -e KEY=…',
    ]);
  });

  const base = {
    key: 'k',
    option: 'set' as const,
    doc: '',
    required: true,
    secret: false,
    multiple: false,
    fallback: [],
  };
  test.each<[Record<string, unknown>, string[], RegExp | string[]]>([
    [{ kind: 'text' }, ['a'], ['a']],
    [{ kind: 'text' }, ['a', 'b'], /one value only/],
    [{ kind: 'text', multiple: true }, ['a', 'b'], ['a', 'b']],
    [{ kind: 'text', choices: ['a', 'b'] }, ['c'], /"k" is one of a, b/],
    [{ kind: 'number' }, ['1.5'], ['1.5']],
    [{ kind: 'number' }, [' '], /"k" is a number/],
    [{ kind: 'number', min: 1, max: 3 }, ['4'], /"k" is a number from 1 to 3/],
    [{ kind: 'number' }, ['${SIZE}'], ['${SIZE}']],
    [{ kind: 'boolean' }, ['yes'], /"k" is true or false/],
    [{ kind: 'path' }, ['/x'], ['/x']],
  ])('of %j: %j', (fields, values, expected) => {
    const check = () => checkValues({ ...base, ...fields } as never, values, '/work');
    if (expected instanceof RegExp) expect(check).toThrow(expected);
    else expect(check()).toEqual(expected);
  });
});
