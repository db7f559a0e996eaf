import type { EntryChange } from '../../src/autocomplete/entry-store';
import { EntriesFixture, stored, storedMany, type Content } from '../support/autocomplete/entries-fixture';
import { between, seeded } from '../support/random';

const LANES = 8;
const ROUNDS = 25;
const ID_COUNT = 60;

describe('two stores that write at the same time', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  it('make one history: its writes give the content of the buckets and every answer', async () => {
    const name = await fixture.dictionary();
    const start = await fixture.head(name);
    const answers = { deleted: 0, counts: [] as string[] };
    const lane = async (number: number) => {
      const random = seeded(number);
      const store = number % 2 === 0 ? fixture.store : fixture.other;
      for (let i = 0; i < ROUNDS; i += 1) {
        const id = between(random, 0, ID_COUNT);
        const dice = random();
        if (dice < 0.3) await store.put(name, [stored(`id ${id}`, `of lane ${number}, ${i}`)]);
        else if (dice < 0.4) await store.put(name, storedMany(120, id, `all of lane ${number}, ${i}`));
        else if (dice < 0.6) {
          const deleted = await store.delete(name, [`id ${id}`, `id ${id + 1}`]);
          if (deleted.kind === 'ok') answers.deleted += deleted.deleted;
        } else {
          const selected = await store.select(name, `id ${id}`, 1);
          if (selected.kind === 'ok' && selected.count !== undefined) {
            answers.counts.push(`id ${id}: ${selected.count}`);
          }
        }
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));

    const replayed = new Map<string, [string, number]>();
    const expected = { deleted: 0, counts: [] as string[] };
    const apply = (change: EntryChange) => {
      const known = replayed.get(change.entryId);
      if (change.kind === 'put') replayed.set(change.entryId, [String(change.record), known?.[1] ?? 0]);
      else if (change.kind === 'delete') expected.deleted += replayed.delete(change.entryId) ? 1 : 0;
      else {
        expect(change.selectionCount).toBe((known?.[1] ?? NaN) + 1);
        if (known) known[1] = change.selectionCount;
        expected.counts.push(`${change.entryId}: ${change.selectionCount}`);
      }
    };
    const head = await fixture.head(name);
    for (let at = start; at.version < head.version;) {
      const read = await fixture.store.writesAfter(name, at);
      if (read.kind !== 'writes') throw new Error(read.kind);
      for (const { version, before, tail, changes } of read.writes) {
        expect({ version, before }).toEqual({ version: at.version + 1, before: at.tail });
        changes.forEach(apply);
        at = { ...at, version, tail };
      }
    }
    const content: Content = Object.fromEntries([...replayed].sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(await fixture.content(name)).toEqual(content);
    expect(answers.deleted).toBe(expected.deleted);
    expect(answers.counts.sort()).toEqual(expected.counts.sort());
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
