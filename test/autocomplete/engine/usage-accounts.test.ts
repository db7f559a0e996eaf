import { DictionaryOwners } from '../../../src/autocomplete/quota/quotas';
import { OwnedDictionaries, UsageAccounts } from '../../../src/autocomplete/quota/usage';
import { ManualClock } from '../../support/manual-clock';
import { fourByteEntries, ModelOwnership } from '../../support/autocomplete/model-entry-store';

const MOST = 1000;

const accountsOf = (store = new ModelOwnership()) =>
  new UsageAccounts(store, new OwnedDictionaries(store), new ManualClock());

test('1,000 accounts are kept, and the least recently used account is forgotten first', () => {
  const accounts = accountsOf();
  const [first, second] = [accounts.ofOwner('first'), accounts.ofOwner('second')];
  for (let i = 2; i < MOST; i += 1) accounts.ofOwner(`owner ${i}`);
  expect(accounts.ofOwner('first')).toBe(first);
  accounts.ofOwner('one more');
  expect(accounts.ofOwner('first')).toBe(first);
  expect(accounts.ofOwner('second')).not.toBe(second);
});

test('an account with a write in flight is kept, because the write must count', () => {
  const accounts = accountsOf();
  const busy = accounts.ofOwner('busy');
  const end = busy.writes.begin({ entries: 1, bytes: 4 });
  const fill = (round: string) => {
    for (let i = 0; i < MOST; i += 1) accounts.ofOwner(`${round} ${i}`);
  };
  fill('first');
  expect(accounts.ofOwner('busy')).toBe(busy);
  end();
  fill('second');
  expect(accounts.ofOwner('busy')).not.toBe(busy);
});

test('an owner and a dictionary without an owner with the same name have different accounts', async () => {
  const store = new ModelOwnership();
  store.create('towns', '', fourByteEntries(3));
  const accounts = accountsOf(store);
  const [owner, dictionary] = [accounts.ofOwner('towns'), accounts.ofUnowned('towns')];
  for (const { whole } of [owner, dictionary]) await whole.refresh(-1);
  expect([owner.whole.amount.entries, dictionary.whole.amount.entries]).toEqual([0, 3]);
});

test('the owners of 1,000 dictionaries are kept for 5 s', async () => {
  const [store, clock] = [new ModelOwnership(), new ManualClock()];
  const owners = new DictionaryOwners(store, clock);
  for (let i = 0; i <= MOST; i += 1) store.create(`dictionary ${i}`, `owner ${i}`);
  for (let i = 0; i < MOST; i += 1) await owners.ownerOf(`dictionary ${i}`);
  await clock.advance(5000);
  const reads = async (name: string) => {
    const before = store.commands.length;
    await owners.ownerOf(name);
    return store.commands.length - before;
  };
  expect(await reads('dictionary 0')).toBe(0);
  expect(await reads(`dictionary ${MOST}`)).toBe(1);
  expect(await reads('dictionary 1')).toBe(0);
  expect(await reads('dictionary 0')).toBe(1);
  await clock.advance(1);
  expect(await reads('dictionary 2')).toBe(1);
  expect(await owners.ownerOf('none')).toBeUndefined();
  expect(await reads('none')).toBe(1);
});
