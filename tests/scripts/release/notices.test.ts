/** The licences of the packages in the bundle. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../../scripts/project.mjs';
import { bundledFolders, notices } from '../../../scripts/release/notices.mjs';

describe('the notices', () => {
  const metafile = {
    inputs: { 'src/main.ts': {}, 'node_modules/ajv/dist/ajv.js': {}, 'node_modules/ajv/dist/core.js': {} },
  };

  it('are about the packages in the bundle, each once', () => {
    expect(bundledFolders(metafile)).toEqual(['node_modules/ajv']);
  });

  it('carry the licence text and the version', () => {
    const text = notices(metafile, { version: '24.0.0', buildFolder: join(ROOT, 'no-such-folder') });
    expect(text).toMatch(/ajv \d+\.\d+\.\d+ \(MIT\)\n\nThe MIT License/);
    expect(text).not.toContain('Node.js');
  });

  it('carry the licence of Node where it is embedded', () => {
    const licence = join(ROOT, 'node_modules/ajv/LICENSE');
    const text = notices(metafile, { version: '24.0.0', licence, buildFolder: join(ROOT, 'no-such-folder') });
    expect(text).toContain('Node.js 24.0.0 (the executables only)\n\nThe MIT License');
  });
});
