import {
  Entry,
  type ImportDictionaryRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { AutocompleteClient } from '../support/clients/autocomplete-client';
import { eventually, eventuallyPasses } from '../support/eventually';
import { refusal } from '../support/clients/calls';
import { ServerPair } from './server-pair';

let pair: ServerPair;
let client: AutocompleteClient;
let elsewhere: AutocompleteClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.autocomplete();
  elsewhere = pair.second.autocomplete();
});

afterAll(() => pair?.close());

const batch = (...ids: string[]): ImportDictionaryRequest => {
  const entries = ids.map((id) => Entry.create({ entryId: id, text: `text ${id}` }));
  return { part: { $case: 'batch', value: { entries } } };
};
const commit = (count: number): ImportDictionaryRequest => ({
  part: { $case: 'commit', value: { entryCount: BigInt(count) } },
});

async function made(name: string, ...ids: string[]): Promise<string> {
  await client.create(name);
  await client.put(name, ...ids.map((id) => ({ entryId: id, text: `text ${id}` })));
  return name;
}

const idsOf = async (dictionary: string) =>
  (await client.list({ dictionary })).entries.map(({ entry }) => entry?.entryId);

async function received(dictionary: string, ...counts: bigint[]): Promise<void> {
  await eventually(`${counts.join(', ')} to be received`, async () => {
    const { imports = [] } = (await client.get(dictionary)) ?? {};
    return (
      imports
        .map(({ receivedCount }) => receivedCount)
        .sort()
        .join() === counts.join()
    );
  });
}

describe('ImportDictionary', () => {
  test.concurrent('creates a dictionary at the commit', async () => {
    const name = 'made by import';
    const open = client.startImport(name);
    open.sendPart(batch('a', 'b'));
    expect((await refusal(elsewhere.get(name))).reason).toBe('NO_SUCH_DICTIONARY');
    open.sendPart(batch('c', 'a'));
    open.sendPart(commit(4));
    open.end();
    expect(await open.answer).toMatchObject({ name, entryCount: 3n, generation: 1n, imports: [] });
    expect(await idsOf(name)).toEqual(['a', 'b', 'c']);
  });

  test.concurrent('answers IMPORT_CONFLICT to the second commit of two concurrent imports', async () => {
    const name = await made('two imports', 'old', 'both');
    await client.select(name, 'both', 7);
    const [first, second] = [client.startImport(name), elsewhere.startImport(name)];
    first.sendPart(batch('both', 'of first'));
    second.sendPart(batch('both'));
    await received(name, 1n, 2n);
    expect(await client.select(name, 'both')).toBe(8n);
    first.sendPart(commit(2));
    first.end();
    expect(await first.answer).toMatchObject({ entryCount: 2n, generation: 2n, imports: [] });
    second.sendPart(batch('of second'));
    second.sendPart(commit(2));
    second.end();
    expect(await refusal(second.answer)).toMatchObject({ code: 'ABORTED', reason: 'IMPORT_CONFLICT' });
    expect(await client.get(name)).toMatchObject({ entryCount: 2n, generation: 2n, imports: [] });
    expect(await idsOf(name)).toEqual(['both', 'of first']);
    expect(await elsewhere.select(name, 'both')).toBe(9n);
  });

  test.concurrent('keeps the puts and deletions that happened during the import', async () => {
    const name = await made('changed meanwhile', 'kept', 'deleted', 'put');
    const open = client.startImport(name);
    open.sendPart(batch('kept', 'deleted'));
    await received(name, 2n);
    await elsewhere.delete(name, 'deleted', 'later');
    await elsewhere.put(name, { entryId: 'put', text: 'put meanwhile' });
    open.sendPart(batch('deleted', 'put', 'later'));
    open.sendPart(commit(5));
    open.end();
    expect(await open.answer).toMatchObject({ entryCount: 2n, generation: 2n });
    const { entries } = await client.list({ dictionary: name });
    expect(entries.map(({ entry }) => entry?.text)).toEqual(['put meanwhile', 'text kept']);
  });

  test.concurrent('changes nothing after a cancellation, an early end or a wrong count', async () => {
    const name = await made('unfinished', 'old');
    const cancelled = client.startImport(name);
    cancelled.sendPart(batch('a'));
    await received(name, 1n);
    cancelled.cancel();
    expect((await refusal(cancelled.answer)).code).toBe('CANCELLED');
    const early = client.startImport(name);
    early.sendPart(batch('b'));
    early.end();
    expect(await refusal(early.answer)).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
    const miscounted = client.startImport(name);
    miscounted.sendPart(batch('c'));
    miscounted.sendPart(commit(2));
    miscounted.end();
    expect(await refusal(miscounted.answer)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_FIELD',
    });
    await eventuallyPasses('nothing to be left of them', async () => {
      expect(await client.get(name)).toMatchObject({ entryCount: 1n, generation: 1n, imports: [] });
    });
    expect(await idsOf(name)).toEqual(['old']);
  });

  test.concurrent('ends with IMPORT_CONFLICT when its dictionary is deleted meanwhile', async () => {
    const name = await made('deleted meanwhile', 'old');
    const open = client.startImport(name);
    open.sendPart(batch('a'));
    await received(name, 1n);
    await elsewhere.call(elsewhere.stub.deleteDictionary, { dictionary: name });
    open.sendPart(commit(1));
    open.end();
    expect((await refusal(open.answer)).reason).toBe('IMPORT_CONFLICT');
    expect((await refusal(client.get(name))).reason).toBe('NO_SUCH_DICTIONARY');
  });
});
