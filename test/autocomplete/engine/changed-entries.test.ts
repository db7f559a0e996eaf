import { ChangedEntries } from '../../../src/autocomplete/loaded/copy';

test('counts a deletion as work, so that many deletions are not carried out on the main thread', () => {
  const changed = new ChangedEntries([]);
  for (let n = 0; n < 1000; n += 1) changed.add({ kind: 'delete', entryId: `id ${n}` });
  expect(changed.bytes).toBeGreaterThan(25_000);
  expect([...changed.living()]).toEqual([]);
});
