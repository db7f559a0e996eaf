import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { WITHOUT } from '../../bench/rows/guards';
import { applyPatch } from '../support/build-variant';
import { ROOT } from '../support/root';

const builtFile = (file: string) => readFileSync(join(ROOT, 'dist', file), 'utf8');

test.each(WITHOUT)('the row "guards" finds the code that it removes from $file: $find', (patch) => {
  const built = builtFile(patch.file);
  expect(applyPatch(built, patch)).not.toBe(built);
});

test.each([...new Set(WITHOUT.map(({ file }) => file))])('%s still parses without its checks', (file) => {
  const patches = WITHOUT.filter((patch) => patch.file === file);
  expect(() => new Script(patches.reduce(applyPatch, builtFile(file)))).not.toThrow();
});
