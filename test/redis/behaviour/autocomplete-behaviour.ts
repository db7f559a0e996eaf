import { randomUUID } from 'node:crypto';
import { type LoadedDictionaries, openIndexes } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { systemClock } from '../../../src/base/clock';
import { entry, NOW, storedOf } from '../../support/autocomplete/dictionary-fixture';
import { type Content, loadedContent, stored, storedMany } from '../../support/autocomplete/entries-fixture';
import { recent } from '../../support/autocomplete/recents-fixture';
import { is } from '../../support/reply-kinds';
import type { BehaviourFixture, StoreServer } from './behaviour-fixture';

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

const INDEX_OPTIONS = { budgetBytes: 64 * 2 ** 20, coreCount: 2, clock: systemClock };

export function autocompleteBehaviour(opened: () => BehaviourFixture): void {
  const names = () => Array.from({ length: NAME_COUNT }, () => opened().name());
  const everywhere = (behaviour: (name: string) => Promise<void>) => Promise.all(names().map(behaviour));
  /** The indexes of the servers. */
  const indexes = new Map<StoreServer, LoadedDictionaries>();
  const defects: unknown[] = [];
  beforeAll(() => {
    for (const server of [opened().one, opened().other]) {
      indexes.set(
        server,
        openIndexes({ store: server.store.entries, ...INDEX_OPTIONS, onDefect, onWarning: onDefect }),
      );
    }
  });
  const onDefect = (error: unknown) => void defects.push(error);
  afterAll(() => {
    for (const one of indexes.values()) one.close();
    expect(defects).toEqual([]);
  });

  async function suggested(server: StoreServer, name: string, query: string): Promise<string[]> {
    const request = { query, kinds: [], limit: 10, after: undefined };
    const ranking = await indexes.get(server)?.rank(name, request, NOW);
    return (ranking?.entries ?? []).map(({ entryId }) => entryId);
  }

  it('keeps the latest recent of a list first, and no more recents than the capacity', () =>
    everywhere(async (list) => {
      const [first, second] = [opened().one.store.recents, opened().other.store.recents];
      for (const text of ['a', 'b', 'c']) await first.add(list, recent(text), 3);
      await second.add(list, recent('a'), 3);
      await second.add(list, recent('d'), 3);
      expect((await first.read(list)).map(({ text }) => text)).toEqual(['d', 'a', 'c']);
      expect(await first.remove(list, { entryId: '', text: 'a' })).toBe(true);
      expect(await second.remove(list, { entryId: '', text: 'a' })).toBe(false);
      expect(await first.drop(list)).toBe(true);
      expect(await second.read(list)).toEqual([]);
    }).then(() => undefined));

  it('orders the suggestions of a dictionary by match kind, weight and selections', () =>
    everywhere(async (name) => {
      const [first, second] = [opened().one.store.entries, opened().other.store.entries];
      is('ok', await first.create(name, PROFILE, ''));
      const entries = [
        entry('light', 'straw'),
        entry('heavy', 'strange', { weight: 5 }),
        entry('inner', 'a straw hat'),
      ];
      is('ok', await first.put(name, storedOf(...entries)));
      expect(await suggested(opened().other, name, 'str')).toEqual(['heavy', 'light', 'inner']);
      expect(is('ok', await second.select(name, 'light', 9)).count).toBe(9);
      expect(is('ok', await second.select(name, 'missing', 1)).count).toBeUndefined();
      expect(await suggested(opened().one, name, 'str')).toEqual(['light', 'heavy', 'inner']);
      expect(is('ok', await second.delete(name, ['heavy', 'missing'])).deleted).toBe(1);
      expect(await suggested(opened().one, name, 'str')).toEqual(['light', 'inner']);
    }).then(() => undefined));

  it('replaces the entries of a dictionary by a committed import, and keeps the selections', () =>
    everywhere(async (name) => {
      const [first, second] = [opened().one.store.entries, opened().other.store.entries];
      is('ok', await first.create(name, PROFILE, ''));
      is('ok', await first.put(name, storedOf(entry('old', 'straw'), entry('both', 'strong'))));
      is('ok', await first.select(name, 'both', 2));
      const importId = randomUUID();
      is('ok', await second.startImport(name, importId, undefined, PROFILE, ''));
      const imported = storedOf(entry('new', 'street'), entry('both', 'strong'));
      is('ok', await second.putImported(name, importId, imported));
      expect(await suggested(opened().one, name, 'str')).toEqual(['both', 'old']);
      is('ok', await second.commitImport(name, importId, ''));
      // A server may answer from the old generation until it has loaded the new generation.
      await indexes.get(opened().one)?.load(name, NOW.patienceMs);
      expect(await suggested(opened().one, name, 'str')).toEqual(['both', 'new']);
      is('lost', await first.putImported(name, importId, imported));
    }).then(() => undefined));

  it('answers unknown for a dropped dictionary', () =>
    everywhere(async (name) => {
      const [first, second] = [opened().one.store.entries, opened().other.store.entries];
      is('ok', await first.create(name, PROFILE, ''));
      expect(await second.drop(name)).toBe(true);
      expect(await first.drop(name)).toBe(false);
      is('unknown', await first.select(name, 'a', 1));
      is('unknown', await first.inspect(name));
    }).then(() => undefined));
}
