/** Debian packages, written without dpkg: an ar archive of two tar archives. */
import { createHash } from 'node:crypto';
import { projectVersion } from '../project.mjs';
import { ar, gzip, tar, xz } from './archives.mjs';
import { MAINTAINER, SUMMARY, sourceTime } from './contents.mjs';

const ARCHITECTURES = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };

/** The version in Debian's order: `1.0.0-rc.1` must come before `1.0.0`. */
export const debVersion = (version) => version.replace('-', '~');

export const debName = (target) => `mcpx_${debVersion(projectVersion())}_${ARCHITECTURES[target]}.deb`;

function control(target, files) {
  const kilobytes = Math.ceil(files.reduce((total, { data }) => total + data.length, 0) / 1024);
  return [
    'Package: mcpx',
    `Version: ${debVersion(projectVersion())}`,
    `Architecture: ${ARCHITECTURES[target]}`,
    `Maintainer: ${MAINTAINER}`,
    `Installed-Size: ${kilobytes}`,
    'Depends: libc6 (>= 2.28), libstdc++6 (>= 8)',
    'Section: utils',
    'Priority: optional',
    `Description: ${SUMMARY}`,
    ' mcpx is an aggregator, an HTTP gateway and a command line for servers of the',
    ' Model Context Protocol. The executable needs no Node and no network.',
    '',
  ].join('\n');
}

/** Every folder above the files, in order; dpkg wants them as entries. */
function foldersOf(files) {
  const folders = new Set(['./']);
  for (const { system } of files) {
    const parts = system.split('/').slice(0, -1);
    for (let count = 1; count <= parts.length; count++) folders.add(`./${parts.slice(0, count).join('/')}/`);
  }
  return [...folders].sort().map((name) => ({ name }));
}

/** The bytes of the package. `files` have the path in the system as `system`. */
export function deb(target, files) {
  const time = sourceTime();
  const sums = files.map(({ system, data }) => `${createHash('md5').update(data).digest('hex')}  ${system}\n`);
  const data = tar([...foldersOf(files), ...files.map((file) => ({ ...file, name: `./${file.system}` }))], time);
  const packed = xz(data);
  return ar(
    [
      { name: 'debian-binary', data: Buffer.from('2.0\n') },
      {
        name: 'control.tar.gz',
        data: gzip(
          tar(
            [
              { name: './' },
              { name: './control', data: Buffer.from(control(target, files)) },
              { name: './md5sums', data: Buffer.from(sums.join('')) },
            ],
            time,
          ),
        ),
      },
      packed === undefined ? { name: 'data.tar.gz', data: gzip(data) } : { name: 'data.tar.xz', data: packed },
    ],
    time,
  );
}
