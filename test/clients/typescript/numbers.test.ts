import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NUMBERS } from '../../../clients/typescript/numbers';
import { ROOT } from '../../support/root';

const shared: unknown = JSON.parse(readFileSync(join(ROOT, 'clients', 'numbers.json'), 'utf8'));

/** The keys as the shared file spells them. */
function withSharedKeys(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      withSharedKeys(inner),
    ]),
  );
}

test('the numbers of the TypeScript client are those of all clients', () => {
  expect(withSharedKeys(NUMBERS)).toEqual(shared);
});
