import { AccentHandling } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { eventually } from '../support/eventually';
import { endingOf, refusal } from '../support/clients/calls';
import { DictionaryClients } from './dictionary-client';
import { expectNothingLeft, expectSound } from './dictionary-residue';
import { Fleet } from './fleet';
import { expectContent, expectContentSoon, town, towns } from './towns';

let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{}, {}] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

/** Repeats a call until the call fails, and resolves to the reason of the failure. */
async function untilItFails(call: () => Promise<unknown>): Promise<string | undefined> {
  for (;;) {
    try {
      await call();
    } catch (error) {
      return endingOf(error).reason;
    }
  }
}

test('after FLUSHALL calls answer NO_SUCH_DICTIONARY, imports end with IMPORT_CONFLICT, and dictionaries can be created again', async () => {
  const [client, other] = [clients.at(fleet.member(0)), clients.at(fleet.member(1))];
  const name = 'flushed';
  await client.create(name);
  await client.put(name, towns(200, 'old'));
  const running = other.startImport(name);
  const large = towns(200, 'put');
  let flushed = false;
  const importing = (async () => {
    for (let batch = 0; !flushed && !running.over; batch += 1)
      await running.send(towns(50, `batch ${batch}`));
    await running.send([town(1, 'late')]);
    return running.ended;
  })();
  const calls = [
    untilItFails(() => client.put(name, large)),
    untilItFails(() => other.put(name, [town(1, 'small')])),
    untilItFails(() => client.suggest(name, 'town')),
    untilItFails(() => other.list(name)),
    untilItFails(() => other.select(name, 'town 1')),
    untilItFails(() => client.remove(name, ['town 2'])),
  ];
  await eventually('the import to be under way', async () => {
    return ((await client.get(name)).imports[0]?.receivedCount ?? 0n) >= 100n;
  });

  await fleet.redis.command('FLUSHALL');
  await fleet.redis.command('SCRIPT', 'FLUSH');
  flushed = true;

  for (const reason of await Promise.all(calls)) expect(reason).toBe('NO_SUCH_DICTIONARY');
  expect(await importing).toMatchObject({ code: 'ABORTED', reason: 'IMPORT_CONFLICT' });
  await expectNothingLeft(fleet.redis, name);
  expect(await client.names('')).toEqual([]);
  expect(await client.drop(name)).toBe(false);
  expect(await refusal(client.get(name))).toMatchObject({ code: 'NOT_FOUND', reason: 'NO_SUCH_DICTIONARY' });

  // Both servers still cache the profile of the lost dictionary. The new dictionary has another profile.
  await client.create(name, AccentHandling.ACCENT_HANDLING_DROPPED);
  for (const [index, server] of [client, other].entries()) {
    await server.put(name, [{ entryId: `résumé ${index}`, text: 'Résumé', weight: BigInt(2 - index) }]);
  }
  const { suggestions } = await other.suggest(name, 'resu');
  expect(suggestions.map(({ entryId }) => entryId)).toEqual(['résumé 0', 'résumé 1']);
  await expectSound(fleet.redis, client, name);
  expect((await client.get(name)).entryCount).toBe(2n);
  expect(await client.select(name, 'résumé 1')).toBe(1);

  const wanted = towns(200, 'new');
  expect(await other.import(name, wanted)).toMatchObject({ code: 'OK' });
  await expectContent(other, name, wanted, 'new');
  await expectContentSoon(client, name, wanted, 'new');
  await expectSound(fleet.redis, client, name);
});
