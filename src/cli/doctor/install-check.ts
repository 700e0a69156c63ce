/** Checks the installation: the executable, its version, and whether a shell finds it. */
import { dirname } from 'node:path';
import { type Environment, lookup } from '../../config/environment.ts';
import { VERSION } from '../../version.ts';
import { selfCommand } from '../own-command.ts';
import { shellWord } from '../shell-word.ts';
import type { Examined, Finding } from './finding.ts';
import { findInPath, isSameFile } from './program-search.ts';

export function checkInstall(world: Environment): Examined {
  const { command, args } = selfCommand();
  const facts = [
    `mcpx ${VERSION} ${process.platform}-${process.arch}, Node ${process.versions.node}: ${[command, ...args].join(' ')}`,
  ];
  // The bundle is started by a Node that the user chose.
  if (args.length > 0) return { facts, findings: [] };
  const found = findInPath('mcpx', lookup('PATH', world) ?? '', world);
  return { facts, findings: pathFinding(command, found, world) };
}

function pathFinding(command: string, found: string | undefined, { platform }: Environment): Finding[] {
  if (found !== undefined && isSameFile(found, command)) return [];
  const folder = dirname(command);
  const fix = platform === 'win32' ? `setx PATH "${folder};%PATH%"` : `export PATH=${shellWord(folder)}:"$PATH"`;
  const own = { area: 'install', level: 'warning', command: fix } as const;
  if (found === undefined)
    return [
      {
        ...own,
        code: 'not-on-path',
        message: 'a shell does not find "mcpx"',
        reason: `its folder "${folder}" is not on PATH, so commands need its full path; clients do not need PATH`,
      },
    ];
  return [
    {
      ...own,
      code: 'other-on-path',
      message: `a shell starts another mcpx: "${found}"`,
      reason: `its folder comes first on PATH; this one is "${command}"`,
    },
  ];
}
