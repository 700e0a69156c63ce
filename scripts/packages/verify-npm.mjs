/** Verifies the npm package with npm, npx, yarn and pnpm: the command, the library with a local module, and the types. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { log } from '../log.mjs';
import { npm, npmCommand } from '../npm.mjs';
import { at, projectVersion } from '../project.mjs';
import { NPM_NAME } from './npm-package.mjs';
import { expectText, inTempFolder, run } from './programs.mjs';

/** Package managers that come from the registry themselves. */
const MANAGERS = { yarn: 'yarn@1.22.22', pnpm: 'pnpm@10.34.9', 'yarn 4': '@yarnpkg/cli-dist@4.18.1' };

const PROGRAM = `
import { createApp, type ToolResult } from '${NPM_NAME}';
const app = createApp({ mcpServers: { math: { type: 'builtin' }, own: { module: './own.mjs' } } });
const result: ToolResult = await app.call('math.convert_base', { number: '255', to: 16 });
console.log(JSON.stringify([result.structuredContent, (await app.call('own.hello')).content]));
await app.stop();
`;
const MODULE = "export const tools = [{ name: 'hello', inputSchema: { type: 'object' }, handler: () => 'hi' }];\n";

/** Makes a folder with a program, as TypeScript and as JavaScript. */
function project(work, name) {
  const folder = join(work, name.replaceAll(' ', '-'));
  mkdirSync(folder);
  const manifest = { name: 'program', version: '1.0.0', private: true, type: 'module' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'yarn.lock'), '');
  writeFileSync(join(folder, 'program.ts'), PROGRAM);
  writeFileSync(join(folder, 'program.mjs'), PROGRAM.replace(', type ToolResult', '').replace(': ToolResult', ''));
  writeFileSync(join(folder, 'own.mjs'), MODULE);
  return folder;
}

/** Runs the command and the program of an installed package. `exec` runs a program of the project. */
function tryPackage(name, exec) {
  expectText(name, exec('mcpx', '--version'), `mcpx/${projectVersion()} `);
  const said = exec('node', 'program.mjs');
  expectText(name, said, '"ff"');
  expectText(name, said, '"hi"');
  log('verified', `the npm package with ${name}: command and createApp`);
}

function verifyNpm(work, tarball, env) {
  const cwd = project(work, 'npm');
  const { command, args, shell } = npmCommand();
  const call = (...words) => run(command, [...args, ...words], { cwd, env, shell });
  call('install', '--offline', '--no-audit', '--no-fund', tarball);
  tryPackage('npm', (program, ...words) => {
    // Old versions of npm take "node" for the name of a package.
    if (program === 'node') return run(process.execPath, words, { cwd, env });
    return call('exec', '--offline', '--', program, ...words);
  });
  const types = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', '', 'program.ts'];
  run(process.execPath, [at('node_modules', 'typescript', 'bin', 'tsc'), ...types], { cwd });
  log('verified', 'the npm package: the types fit a program in strict mode');
  const said = call('exec', '--offline', '--yes', `--package=${tarball}`, '--', 'mcpx', '--version');
  expectText('npx', said, `mcpx/${projectVersion()} `);
  log('verified', 'the npm package with npx from a folder');
}

/** Installs the managers; false if the registry does not answer. */
function installManagers(folder) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  const specs = Object.entries(MANAGERS).map(([name, spec]) => `${name.replace(' ', '')}@npm:${spec}`);
  return npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', ...specs], { cwd: folder }).status === 0;
}

function verifyManagers(work, tarball, env) {
  const tools = join(work, 'tools');
  if (!installManagers(tools)) return log('not run', 'yarn and pnpm: the npm registry does not answer');
  for (const [name, script] of [
    ['yarn', 'yarn/bin/yarn.js'],
    ['pnpm', 'pnpm/bin/pnpm.cjs'],
    ['yarn 4', 'yarn4/bin/yarn.js'],
  ]) {
    const cwd = project(work, name);
    const call = (...words) => run(process.execPath, [join(tools, 'node_modules', script), ...words], { cwd, env });
    call('add', `${NPM_NAME}@file:${tarball}`);
    tryPackage(name, (...words) =>
      call(...(name === 'yarn 4' ? [] : ['exec']), ...(name === 'yarn' ? ['--'] : []), ...words),
    );
  }
}

/** `folder` has the tarball. Everything is installed into temporary folders, with a home of their own. */
export function verifyNpmPackage(folder) {
  return inTempFolder((work) => {
    const tarball = join(folder, `mcpx-npm-${projectVersion()}.tgz`);
    const env = {
      ...process.env,
      HOME: work,
      USERPROFILE: work,
      npm_config_loglevel: 'error',
      YARN_ENABLE_TELEMETRY: '0',
    };
    verifyNpm(work, tarball, env);
    verifyManagers(work, tarball, env);
  });
}
