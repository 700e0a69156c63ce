/** The executable as a gateway for the interop tests: started once for many tests, in a home of its own. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXECUTABLE } from '../e2e/program.ts';
import type { Target } from './conversation.ts';

export interface Gateway extends Target {
  pid: number;
  stop(): Promise<void>;
}

/** One server, plain names, kept URIs: mcpx is to be indistinguishable from it. */
export const TRANSPARENT = { front: { kind: 'aggregate' }, naming: { style: 'plain', resources: 'keep' } };

/** Serves the config over HTTP, and knows how to serve it over stdio. */
export async function startGateway(config: Record<string, unknown>): Promise<Gateway> {
  const root = mkdtempSync(join(tmpdir(), 'mcpx-interop-'));
  const home = join(root, 'home');
  mkdirSync(home);
  const file = join(root, 'mcp.json');
  writeFileSync(file, JSON.stringify(config));
  const env = { HOME: home, USERPROFILE: home, PATH: process.env.PATH ?? '', SystemRoot: process.env.SystemRoot ?? '' };
  const child = spawn(EXECUTABLE, ['serve', file, '--port', '0'], {
    cwd: root,
    env,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const found = /listening on (\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`mcpx ended: ${said}`)));
  });
  return {
    url,
    pid: Number(child.pid),
    command: { command: EXECUTABLE, args: ['serve', file], env, cwd: root },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
