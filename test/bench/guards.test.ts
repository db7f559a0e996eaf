import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WITHOUT } from '../../bench/rows/guards';
import { applyPatch } from '../support/build-variant';
import { ROOT } from '../support/root';

test.each(WITHOUT)('the row "guards" finds the code that it removes from $file: $find', (patch) => {
  const built = readFileSync(join(ROOT, 'dist', patch.file), 'utf8');
  expect(applyPatch(built, patch)).not.toBe(built);
});
