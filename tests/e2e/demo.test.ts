/** `mcpx demo` as a new user meets it: an empty folder, an empty home, an empty PATH, no network. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { hostTarget } from '../../scripts/project.mjs';
import { pinnedNode } from '../../scripts/release/node.mjs';
import { EXECUTABLE, emptyPlace, post, start } from './program.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('the executable alone serves the demo, and what it prints can be pasted', async () => {
  const place = emptyPlace();
  const copy = join(place.cwd, process.platform === 'win32' ? 'mcpx.exe' : 'mcpx');
  copyFileSync(EXECUTABLE, copy);
  chmodSync(copy, 0o755);
  const demo = start(['demo', '--port', '0'], { ...place, env: { ...place.env, PATH: '' } }, [copy]);
  await demo.wrote('stdout', 'Running.');
  const { stdout } = demo.said;

  const [, before = '', after = ''] = /without mcpx +≈ (\d+)[\s\S]*with mcpx +≈ (\d+)/.exec(stdout) ?? [];
  expect(Number(after)).toBeLessThan(Number(before) / 2);
  for (const name of ['README.md', 'README.zh-CN.md']) {
    const [, shown = name] = /^\$ mcpx demo\n(.*?)…$/ms.exec(readFileSync(join(ROOT, name), 'utf8')) ?? [];
    expect(stdout).toContain(shown);
  }

  const [, page = ''] = /^status page +(\S+)$/m.exec(stdout) ?? [];
  expect(await (await fetch(page)).text()).toContain('<title>mcpx</title>');

  const [, url = ''] = /"url":"(http:\/\/127\.0\.0\.1:\d+\/mcp)"/.exec(stdout) ?? [];
  const bodies = [...stdout.matchAll(/-d '(.*)'/g)].map(([, body = '']) => JSON.parse(body));
  expect(bodies.map(({ params }) => params.name)).toEqual(['inspect', 'exec']);
  const replies = await Promise.all(bodies.map(({ method, params }) => post(url, method, params)));
  expect(replies[0].result.content[0].text).toContain('convert(args');
  expect(JSON.stringify(replies[1].result)).toContain('42');

  const [, snippet = ''] = /^ *(\{"mcpServers".*"serve".*\})$/m.exec(stdout) ?? [];
  expect(JSON.parse(snippet).mcpServers.mcpx).toEqual({ command: copy, args: ['serve', '--demo'] });
  const status: any = await (await fetch(url.replace('/mcp', '/api/status'))).json();
  expect(status.profiles[0].servers).toHaveLength(3);
});

test('from source it runs without a build, with its page', async () => {
  const place = emptyPlace();
  const { file: node } = await pinnedNode(hostTarget());
  const demo = start(['demo', '--port', '0'], place, [node, join(ROOT, 'src', 'main.ts')]);
  await demo.wrote('stdout', 'Running.');
  expect(demo.said.stderr).toBe('');
  const [, page = ''] = /^status page +(\S+)$/m.exec(demo.said.stdout) ?? [];
  const html = await (await fetch(page)).text();
  for (const part of ['page.css', 'words.client.js', 'draw.client.js', 'page.client.js'])
    expect(html, part).toContain(readFileSync(join(ROOT, 'src', 'listen', 'page', part), 'utf8'));
});

test('a demo with a token says where the token goes, and the token itself nowhere', async () => {
  const place = emptyPlace();
  const demo = start(['demo', '--port', '0'], { ...place, env: { ...place.env, MCPX_TOKEN: 'correct-horse' } });
  await demo.wrote('stdout', 'Running.');
  const { stdout } = demo.said;
  const [, snippet = ''] = /^ *(\{"mcpServers".*"url".*\})$/m.exec(stdout) ?? [];
  expect(JSON.parse(snippet).mcpServers.mcpx.headers).toEqual({ Authorization: 'Bearer ${MCPX_TOKEN}' });
  expect(stdout.match(/-H "authorization: Bearer \$MCPX_TOKEN"/g)).toHaveLength(2);
  expect(stdout).not.toContain('correct-horse');
});

const canUnshare = spawnSync('unshare', ['-n', 'sh', '-c', 'ip link set lo up'], { stdio: 'ignore' }).status === 0;

test.skipIf(!canUnshare)(
  'nothing is contacted: it works where only loopback exists (needs unshare and ip, as root)',
  () => {
    const place = emptyPlace();
    const script = `
    ip link set lo up
    "${EXECUTABLE}" demo --port 39095 > out.txt 2> err.txt &
    pid=$!
    for i in $(seq 100); do grep -q Running out.txt && break; sleep 0.1; done
    "${process.execPath}" -e '
      fetch("http://127.0.0.1:39095/mcp", {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({jsonrpc: "2.0", id: 1, method: "tools/call", params: {name: "exec", arguments: {server_name: "math", tool_name: "calculate", arguments: {expression: "6*7"}}}})})
        .then((r) => r.text()).then((t) => console.log(t))'
    kill $pid; wait $pid; echo "ended with $?"; cat err.txt`;
    const out = execFileSync('unshare', ['-n', 'sh', '-c', script], {
      cwd: place.cwd,
      env: place.env,
      encoding: 'utf8',
    });
    expect(out).toContain('42');
    expect(out).toContain('ended with 0');
  },
);
