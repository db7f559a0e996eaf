import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describedCalls } from '../../src/access/verbs';
import { ROOT } from '../support/root';

/** The table of verbs in docs/operations/security.md, and the verbs of the contract. */

const CALLS = describedCalls(readFileSync(join(ROOT, 'generated/descriptor.binpb')));

/** The rows of the table, by verb. */
function documented(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(join(ROOT, 'docs/operations/security.md'), 'utf8');
  const [, after = ''] = text.split('### Verbs');
  const [section = ''] = after.split('\n#');
  const rows = [...section.matchAll(/^\| `?(\w+)`? \| (.+?) \|$/gm)].filter(([, verb]) => verb !== 'verb');
  const calls = new Map<string, string[]>();
  for (const [, verb = '', list = ''] of rows)
    calls.set(verb, [...(calls.get(verb) ?? []), ...list.split(', ')]);
  return calls;
}

test('the table of verbs has every call of the contract once, with its verb', () => {
  const expected = new Map<string, string[]>();
  for (const { verb, method } of CALLS) {
    const key = verb ?? 'missing';
    expected.set(key, [...(expected.get(key) ?? []), method]);
  }
  const sorted = (map: ReadonlyMap<string, readonly string[]>) =>
    Object.fromEntries([...map].map(([verb, calls]) => [verb, [...calls].sort()]));
  expect(sorted(documented())).toEqual(sorted(expected));
});
