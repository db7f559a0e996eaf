import {
  AccentHandling,
  TypoMatching,
  type Profile,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { AutocompleteClient } from '../support/clients/autocomplete-client';
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

const KEPT: Profile = {
  accents: AccentHandling.ACCENT_HANDLING_KEPT,
  typoMatching: TypoMatching.TYPO_MATCHING_ON,
};
const DROPPED: Profile = { ...KEPT, accents: AccentHandling.ACCENT_HANDLING_DROPPED };
const EXISTS = { code: 'ALREADY_EXISTS', reason: 'DICTIONARY_EXISTS' };

const create = (from: AutocompleteClient, dictionary: string, profile: Profile | undefined) =>
  from.call(from.stub.createDictionary, { dictionary, profile });

describe('the profile of a dictionary', () => {
  test.concurrent(
    'is never changed by CreateDictionary, which answers DICTIONARY_EXISTS to another profile',
    async () => {
      const name = 'created';
      await create(client, name, DROPPED);
      await client.put(name, { entryId: 'a', text: 'é' });
      for (const other of [KEPT, { ...DROPPED, typoMatching: TypoMatching.TYPO_MATCHING_OFF }, undefined]) {
        expect(await refusal(create(elsewhere, name, other))).toMatchObject(EXISTS);
      }
      expect((await create(elsewhere, name, DROPPED)).dictionary).toMatchObject({
        entryCount: 1n,
        profile: DROPPED,
      });
      expect(await client.texts({ dictionary: name, query: 'e' })).toEqual(['é']);
    },
  );

  test.concurrent(
    'is never changed by ImportDictionary, which answers DICTIONARY_EXISTS to another profile',
    async () => {
      const name = 'imported';
      await create(client, name, DROPPED);
      await client.put(name, { entryId: 'a', text: 'é' });
      expect(await refusal(elsewhere.startImport(name, KEPT).answer)).toMatchObject(EXISTS);
      expect(await client.get(name)).toMatchObject({ entryCount: 1n, generation: 1n, imports: [] });
      for (const same of [DROPPED, undefined]) {
        const open = elsewhere.startImport(name, same);
        open.sendPart({ part: { $case: 'commit', value: { entryCount: 0n } } });
        open.end();
        expect(await open.answer).toMatchObject({ entryCount: 0n, profile: DROPPED });
      }
    },
  );
});
