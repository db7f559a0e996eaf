import { loadedContent, stored, storedMany, type Content } from '../../support/autocomplete/entries-fixture';
import type { BehaviourFixture } from './behaviour-fixture';

const PROFILE = { accents: 'kept', typos: false } as const;
const NAME_COUNT = 4;

export function entriesBehaviour(opened: () => BehaviourFixture): void {
  const stores = () => [opened().one.store.entries, opened().other.store.entries] as const;
  const everywhere = (behaviour: (name: string) => Promise<void>) =>
    Promise.all(Array.from({ length: NAME_COUNT }, () => behaviour(opened().name()))).then(() => undefined);

  it('loads what both servers have written', () =>
    everywhere(async (name) => {
      const [first, second] = stores();
      expect(await second.put(name, [stored('a')])).toEqual({ kind: 'unknown' });
      expect(await first.create(name, PROFILE, '')).toEqual({ kind: 'ok' });
      expect(await second.create(name, { ...PROFILE, typos: true }, '')).toMatchObject({
        kind: 'other-profile',
      });
      expect(await first.put(name, storedMany(250))).toEqual({ kind: 'ok' });
      expect(await second.put(name, [stored('id 1', 'new')])).toEqual({ kind: 'ok' });
      expect(await first.select(name, 'id 1', 4)).toEqual({ kind: 'ok', count: 4 });
      const ids = storedMany(248, 2).map(({ entryId }) => entryId);
      expect(await second.delete(name, ids)).toEqual({ kind: 'ok', deleted: 248 });
      const expected: Content = { 'id 0': ['record 0', 0], 'id 1': ['new', 4] };
      expect(await loadedContent(first, name)).toEqual(expected);
      expect(await loadedContent(second, name)).toEqual(expected);
      expect(await second.head(name)).toMatchObject({ version: 7, profile: PROFILE });
    }));

  it('replaces the entries by a committed import, and keeps the writes of the meantime', () =>
    everywhere(async (name) => {
      const [first, second] = stores();
      await first.create(name, PROFILE, '');
      await second.put(name, [stored('a', 'old'), stored('b', 'old')]);
      expect(await first.startImport(name, 'import', undefined, PROFILE, '')).toEqual({ kind: 'ok' });
      await second.put(name, [stored('b', 'between')]);
      expect(await first.putImported(name, 'import', storedMany(150))).toEqual({ kind: 'ok' });
      expect(await first.commitImport(name, 'import', '')).toEqual({ kind: 'ok' });
      const content = await loadedContent(second, name);
      expect(Object.keys(content)).toHaveLength(151);
      expect(content.b).toEqual(['between', 0]);
      expect(await second.inspect(name)).toMatchObject({ entryCount: 151, generation: 2, imports: [] });
      expect(await second.names(name, undefined, 1)).toEqual([name]);
    }));

  it('knows the owner of a dictionary and what it counts for the owner on both servers', () =>
    everywhere(async (name) => {
      const [first, second] = stores();
      const owner = `token:${name}`;
      await first.create(name, PROFILE, owner);
      await second.put(name, [stored('id', 'record')]);
      expect(await second.owned(owner, undefined, 2)).toEqual([name]);
      expect(await second.usage(name)).toEqual({ kind: 'used', owner, amount: { entries: 1, bytes: 8 } });
    }));

  it('deletes a dictionary with all its keys', () =>
    everywhere(async (name) => {
      const [first, second] = stores();
      await first.create(name, PROFILE, '');
      await first.put(name, storedMany(150));
      expect(await second.drop(name)).toBe(true);
      expect(await first.drop(name)).toBe(false);
      expect(await first.head(name)).toEqual({ kind: 'unknown' });
      while ((await first.sweep(name)) === 'more');
      expect(await second.sweep(name)).toBe('gone');
    }));
}
