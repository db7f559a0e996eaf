import { OwnedDictionaries } from '../../../src/autocomplete/quota/usage';
import { fourByteEntries, ModelOwnership } from '../../support/autocomplete/model-entry-store';

const [ALICE, BOB] = ['token:alice', 'token:bob'];

let store: ModelOwnership;
let owned: OwnedDictionaries;
beforeEach(() => {
  store = new ModelOwnership();
  owned = new OwnedDictionaries(store);
});

const names = (by: string) => [...store.listOf(by)].sort();

test('the usage of an owner is the sum over its dictionaries, and not over those of others', async () => {
  store.create('one', ALICE, fourByteEntries(2));
  store.create('two', ALICE, fourByteEntries(3));
  store.create('other', BOB, fourByteEntries(50));
  store.create('nobody', '', fourByteEntries(50));
  expect(await owned.usage(ALICE)).toEqual({ entries: 5, bytes: 20 });
  expect(await owned.usage(ALICE, 'two')).toEqual({ entries: 2, bytes: 8 });
  expect(await owned.usage('token:carol')).toEqual({ entries: 0, bytes: 0 });
});

test('a walk over many dictionaries reads at most 64 at the same time, and each of them once', async () => {
  for (let i = 0; i < 130; i += 1) store.create(`dictionary ${i}`, ALICE, fourByteEntries(1));
  let reading = 0;
  let most = 0;
  store.before = async (command) => {
    if (command !== 'usage') return;
    reading += 1;
    most = Math.max(most, reading);
    await new Promise(setImmediate);
    reading -= 1;
  };
  expect(await owned.usage(ALICE)).toEqual({ entries: 130, bytes: 520 });
  expect(most).toBe(64);
  expect(store.commands.filter((command) => command === 'usage')).toHaveLength(130);
  expect(store.commands.filter((command) => command === 'owned')).toHaveLength(3);
});

test('names of dictionaries that are gone or belong to others leave the list, and count nothing', async () => {
  store.create('mine', ALICE, fourByteEntries(1));
  store.create('other', BOB, fourByteEntries(1));
  store.create('nobody', '', fourByteEntries(1));
  for (const name of ['gone', 'other', 'nobody']) store.listOf(ALICE).add(name);
  expect(await owned.usage(ALICE)).toEqual({ entries: 1, bytes: 4 });
  expect(names(ALICE)).toEqual(['mine']);
});

test('the name of a dictionary that an import may create stays in the list', async () => {
  store.listOf(ALICE).add('new');
  store.imported.add('new');
  expect(await owned.usage(ALICE)).toEqual({ entries: 0, bytes: 0 });
  expect(names(ALICE)).toEqual(['new']);
});

test('a dictionary that is created while its name leaves the list is listed again', async () => {
  store.listOf(ALICE).add('new');
  store.before = (command) => {
    if (command === 'unregisterOwned') store.create('new', ALICE, fourByteEntries(1));
  };
  await owned.usage(ALICE);
  expect(names(ALICE)).toEqual(['new']);
});

test('a name that a failed removal may have taken is listed again by the next walk', async () => {
  store.listOf(ALICE).add('new');
  store.before = (command) => {
    if (command !== 'unregisterOwned') return;
    // The command is carried out, and its answer is lost.
    store.create('new', ALICE, fourByteEntries(1));
    store.listOf(ALICE).delete('new');
    store.isDown = true;
  };
  await expect(owned.usage(ALICE)).rejects.toThrow('store unavailable');
  expect(names(ALICE)).toEqual([]);
  store.isDown = false;
  expect(await owned.usage(ALICE)).toEqual({ entries: 1, bytes: 4 });
  expect(names(ALICE)).toEqual(['new']);
  store.commands.length = 0;
  await owned.usage(ALICE);
  expect(store.commands).toEqual(['owned', 'usage']);
});

test('a list stays short while its owner creates and deletes dictionaries with ever new names', async () => {
  for (let i = 0; i < 20; i += 1) store.create(`kept ${i}`, ALICE);
  for (let i = 0; i < 500; i += 1) {
    store.create(`new ${i}`, ALICE);
    await owned.examineSome(ALICE);
    store.dictionaries.delete(`new ${i}`);
  }
  expect(store.listOf(ALICE).size).toBeLessThan(50);
  expect(names(ALICE).filter((name) => name.startsWith('kept'))).toHaveLength(20);
});

test('the last examined name is remembered for 1,000 owners, and other owners begin at the first name', async () => {
  for (let i = 0; i <= 1000; i += 1) for (const name of ['a', 'b', 'c']) store.listOf(`owner ${i}`).add(name);
  for (const name of ['a', 'b', 'c']) store.imported.add(name);
  const seen = jest.spyOn(store, 'owned');
  const place = async (owner: string) => {
    await owned.examineSome(owner);
    return seen.mock.calls.at(-1)?.[1];
  };
  for (let i = 0; i <= 1000; i += 1) expect(await place(`owner ${i}`)).toBeUndefined();
  expect(await place('owner 0')).toBeUndefined();
  expect(await place('owner 2')).toBe('b');
  expect(await place('owner 2')).toBeUndefined();
});
