/** Finds out which clients are running, because they read their config only when they start. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { type ClientId, rowOf } from './client-table.ts';

/** Milliseconds after which the list of processes is given up. */
const PATIENCE = 3000;

/** Returns the clients of which a process with one of their names runs. */
export function runningClients(clients: readonly ClientId[], names = processNames()): ClientId[] {
  return clients.filter((client) => rowOf(client).processes.some((name) => names.has(name)));
}

/** Returns the names of all processes, without `.exe`; empty if the system does not tell. */
export function processNames(platform = process.platform): Set<string> {
  try {
    return new Set(platform === 'linux' ? linuxNames() : platform === 'win32' ? windowsNames() : unixNames());
  } catch {
    return new Set();
  }
}

function linuxNames(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const [program = '', script = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      // Clients that are scripts run as "node /usr/bin/codex".
      const isNode = nameOf(program) === 'node';
      return [nameOf(program), ...(isNode ? [nameOf(script)] : [])];
    } catch {
      return []; // The process has ended.
    }
  });
}

function unixNames(): string[] {
  const options = { encoding: 'utf8', timeout: PATIENCE } as const;
  return execFileSync('ps', ['-axo', 'comm='], options).split('\n').map(nameOf);
}

function windowsNames(): string[] {
  const options = { encoding: 'utf8', timeout: PATIENCE, windowsHide: true } as const;
  const lines = execFileSync('tasklist', ['/fo', 'csv', '/nh'], options).split(/\r?\n/);
  return lines.map((line) => nameOf(/^"([^"]*)"/.exec(line)?.[1] ?? ''));
}

function nameOf(path: string): string {
  return (path.trim().split(/[\\/]/).at(-1) ?? '').replace(/\.exe$/i, '');
}
