import fc from 'fast-check';
import type { EntryTable } from '../../../../src/autocomplete/index/layer/layer';
import { buildTable, updateTable } from '../../../../src/autocomplete/index/build/builder';
import { rankOfId } from '../../../../src/autocomplete/index/layer/id-table';
import { openLayer } from '../../../../src/autocomplete/index/layer/layer-memory';
import { entryIdBytesAt } from '../../../../src/autocomplete/index/layer/packed-entry';
import { collect, someEntries, type TestEntry } from '../../../support/autocomplete/index-view';

const tableOf = (entries: readonly TestEntry[]): EntryTable => buildTable(collect(entries));

/** Everything in a table except the seed and the places of its ids. */
const contentOf = ({ count, forms, formsAt, scores, entries, entryAt }: EntryTable) => ({
  count,
  forms: [...forms],
  formsAt: [...formsAt],
  scores: [...scores],
  entries: [...entries],
  entryAt: [...entryAt],
});

test('gives the table that a build of all entries gives', () => {
  // The numbers choose entries of both lists, so some changed and some deleted ids are known.
  const choices = fc.array(fc.nat(20), { maxLength: 6 });
  fc.assert(
    fc.property(someEntries(12), someEntries(4), choices, choices, (entries, added, replaced, deleted) => {
      const changed = new Map(added.map((entry) => [entry.id, entry]));
      for (const choice of replaced) {
        const known = entries[choice];
        if (known) changed.set(known.id, { ...known, text: `${known.text} new`, weight: choice });
      }
      const deletedIds = deleted.map((choice) => entries[choice]?.id ?? `unknown ${choice}`);
      const rest = entries.filter(({ id }) => !changed.has(id) && !deletedIds.includes(id));
      const expected = tableOf([...rest, ...changed.values()]);

      const memory = updateTable(
        tableOf(entries),
        collect([...changed.values()]),
        deletedIds.map((id) => Buffer.from(id)),
      );
      const updated = openLayer(memory);
      expect(contentOf(updated)).toEqual(contentOf(expected));
      for (let rank = 0; rank < updated.count; rank++) {
        expect(rankOfId(updated, entryIdBytesAt(updated, rank))).toBe(rank);
      }
    }),
    { numRuns: 200 },
  );
});

test('leaves the given table as it is', () => {
  const entries = [
    { id: 'a', text: 'Anna', weight: 2 },
    { id: 'b', text: 'Bert', weight: 1 },
  ];
  const table = tableOf(entries);
  updateTable(table, collect([{ id: 'b', text: 'Berta', weight: 9 }]), [Buffer.from('a')]);
  expect(contentOf(table)).toEqual(contentOf(tableOf(entries)));
});
