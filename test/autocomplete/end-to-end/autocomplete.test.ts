import { MatchKind, SuggestRequest } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { ServerPair } from '../../end-to-end/server-pair';
import type { AutocompleteClient } from '../../support/clients/autocomplete-client';
import { refusal } from '../../support/clients/calls';

let pair: ServerPair;
let client: AutocompleteClient;
let elsewhere: AutocompleteClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.autocomplete();
  elsewhere = pair.second.autocomplete();
});

afterAll(() => pair?.close());

/** Creates a dictionary with these texts. The id of an entry is its text. */
async function dictionary(name: string, ...texts: string[]): Promise<string> {
  await client.create(name);
  if (texts.length > 0) await client.put(name, ...texts.map((text) => ({ entryId: text, text })));
  return name;
}

describe('AutocompleteService', () => {
  test.concurrent('lists exact, prefix, suffix and contains matches in this order (chapter 1)', async () => {
    const name = await dictionary('steps', 'banana', 'an', 'cabana', 'ana', 'anaconda', 'plan', 'zebra');
    const all = ['an', 'ana', 'anaconda', 'plan', 'banana', 'cabana'];
    const { suggestions } = await elsewhere.suggest({ dictionary: name, query: 'AN' });
    expect(suggestions.map(({ text }) => text)).toEqual(all);
    expect(suggestions.map(({ matchKind }) => matchKind)).toEqual([
      MatchKind.MATCH_KIND_EXACT,
      MatchKind.MATCH_KIND_PREFIX,
      MatchKind.MATCH_KIND_PREFIX,
      MatchKind.MATCH_KIND_SUFFIX,
      MatchKind.MATCH_KIND_CONTAINS,
      MatchKind.MATCH_KIND_CONTAINS,
    ]);
    expect(await client.texts({ dictionary: name, query: 'an', pageSize: 4 })).toEqual(all.slice(0, 4));
  });

  test.concurrent('continues on the next page without a repeated or missing match (chapter 2)', async () => {
    const name = await dictionary('pages', 'banana', 'an', 'cabana', 'ana', 'anaconda', 'plan', 'zebra');
    const found: string[] = [];
    let pageToken = '';
    do {
      const page = await client.suggest({ dictionary: name, query: 'an', pageSize: 2, pageToken });
      found.push(...page.suggestions.map(({ text }) => text));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(found).toEqual(['an', 'ana', 'anaconda', 'plan', 'banana', 'cabana']);
  });

  test.concurrent(
    'keeps the latest 100 recents of a list, and moves a repeated recent to the front (chapter 3)',
    async () => {
      const list = 'chapter 3';
      for (let i = 0; i < 103; i += 1) await client.addRecent({ list, text: `contact ${i}` });
      await elsewhere.addRecent({ list, text: 'contact 50' });
      const found = await elsewhere.recents({ list, pageSize: 100 });
      expect(found).toHaveLength(100);
      expect(found.slice(0, 3)).toEqual(['contact 50', 'contact 102', 'contact 101']);
      expect(found).not.toContain('contact 2');
      expect(found.at(-1)).toBe('contact 3');
    },
  );

  test.concurrent('removes a single recent, and deletes a whole list of recents (chapter 4)', async () => {
    const list = 'chapter 4';
    for (const text of ['Anna', 'Bert', 'Carl']) await client.addRecent({ list, text });
    const which = { list, text: 'Bert', entryId: '' };
    expect(await elsewhere.call(elsewhere.stub.removeRecent, which)).toEqual({ removed: true });
    expect(await client.call(client.stub.removeRecent, which)).toEqual({ removed: false });
    expect(await client.recents({ list })).toEqual(['Carl', 'Anna']);
    expect(await client.call(client.stub.deleteRecents, { list })).toEqual({ deleted: true });
    expect(await client.call(client.stub.deleteRecents, { list })).toEqual({ deleted: false });
    expect(await client.recents({ list })).toEqual([]);
  });

  test.concurrent('finds recents by the typed text, and ignores case (chapter 5)', async () => {
    const list = 'chapter 5';
    for (const text of ['Joanna', 'ANN', 'Annabel', 'Mary Ann', 'Hanno', 'Bert'])
      await client.addRecent({ list, text });
    expect(await elsewhere.recents({ list, query: 'aNN' })).toEqual([
      'ANN',
      'Annabel',
      'Mary Ann',
      'Hanno',
      'Joanna',
    ]);
  });

  test.concurrent('answers with a page of five out of 3,000 names (chapter 6)', async () => {
    const name = await dictionary('guild');
    for (let from = 0; from < 3000; from += 1000) {
      const texts = Array.from({ length: 1000 }, (_, i) => `member ${from + i}`);
      await client.put(name, ...texts.map((text) => ({ entryId: text, text })));
    }
    expect((await elsewhere.get(name))?.entryCount).toBe(3000n);
    expect(await elsewhere.texts({ dictionary: name, query: 'member 29', pageSize: 5 })).toEqual([
      'member 29',
      'member 290',
      'member 2900',
      'member 2901',
      'member 2902',
    ]);
  });

  test.concurrent(
    'finds all texts with a prefix, and no neighbour of the prefix in byte order (chapter 7)',
    async () => {
      const name = await dictionary(
        'bounds',
        'ab',
        'aba',
        'abzz',
        'ab\u{10ffff}',
        'aa',
        'ac',
        'a`',
        'a{',
        'abé',
      );
      const found = await client.texts({
        dictionary: name,
        query: 'ab',
        matchKinds: [MatchKind.MATCH_KIND_PREFIX],
      });
      expect(found).toEqual(['ab', 'aba', 'abzz', 'abé', 'ab\u{10ffff}']);
    },
  );

  test.concurrent('answers 64 concurrent queries with the same prefix correctly (chapter 8)', async () => {
    const name = await dictionary('same prefix', 'abc', 'abd', 'abe', 'abf');
    const asked = { dictionary: name, query: 'ab' };
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? client : elsewhere).texts(asked)),
    );
    for (const answer of answers) expect(answer).toEqual(['abc', 'abd', 'abe', 'abf']);
    expect((await client.get(name))?.entryCount).toBe(4n);
  });

  test.concurrent(
    'answers with 10 matches by default, and misses no match during writes (chapter 9)',
    async () => {
      const texts = Array.from({ length: 30 }, (_, i) => `ab ${String(i).padStart(2, '0')}`);
      const name = await dictionary('ten', ...texts);
      const writing = Promise.all(
        Array.from({ length: 50 }, (_, i) => elsewhere.put(name, { entryId: `z${i}`, text: `ab z${i}` })),
      );
      for (let time = 0; time < 20; time += 1) {
        expect(await client.texts({ dictionary: name, query: 'ab' })).toEqual(texts.slice(0, 10));
      }
      await writing;
    },
  );

  test.concurrent('orders matches by the code points of their characters (chapter 10)', async () => {
    const texts = ['a', 'é', 'ж', '東京', '\uf8ff', '😀', '\u{10ffff}'];
    const name = await dictionary('any', ...texts.map((text) => `x${text}`));
    expect(await client.texts({ dictionary: name, query: 'x' })).toEqual([
      'xa',
      'xé',
      'xж',
      'x東京',
      'x\uf8ff',
      'x😀',
      'x\u{10ffff}',
    ]);
    expect(await client.texts({ dictionary: name, query: '京' })).toEqual(['x東京']);
    expect(await client.texts({ dictionary: name, query: '😀' })).toEqual(['x😀']);
  });

  test.concurrent('finds an entry after its put, and not after its deletion (chapter 11)', async () => {
    const name = await dictionary('joining', 'anna');
    await client.put(name, { entryId: 'bert', text: 'annabert' });
    expect(await elsewhere.texts({ dictionary: name, query: 'ann' })).toEqual(['anna', 'annabert']);
    expect(await elsewhere.delete(name, 'anna', 'nobody')).toBe(1);
    expect(await client.texts({ dictionary: name, query: 'ann' })).toEqual(['annabert']);
  });

  test.concurrent('lists the entries between two bounds in order and in pages (chapter 12)', async () => {
    const name = await dictionary('range', 'delta', 'Alpha', 'charlie', 'bravo', 'echo', 'Chess');
    const found: (string | undefined)[] = [];
    let pageToken = '';
    do {
      const asked = { dictionary: name, startText: 'B', endText: 'delta', pageSize: 2, pageToken };
      const page = await elsewhere.list(asked);
      found.push(...page.entries.map(({ entry }) => entry?.text));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(found).toEqual(['bravo', 'charlie', 'Chess']);
  });
});

describe('a page token', () => {
  test.concurrent('is refused with INVALID_FIELD if another query made the token', async () => {
    const name = await dictionary('tokens', 'aa', 'ab', 'ac');
    const { nextPageToken: pageToken } = await client.suggest({ dictionary: name, query: 'a', pageSize: 1 });
    expect(pageToken).not.toBe('');
    const { nextPageToken } = await client.list({ dictionary: name, pageSize: 1 });
    for (const bad of [
      client.suggest({ dictionary: name, query: 'b', pageToken }),
      client.suggest({ dictionary: name, query: 'a', recentsList: 'x', pageToken }),
      client.suggest({ dictionary: name, query: 'a', pageToken: nextPageToken }),
      client.suggest({ dictionary: name, query: 'a', pageToken: `${pageToken}A` }),
      client.list({ dictionary: name, pageToken }),
      client.list({ dictionary: name, startText: 'b', pageToken: nextPageToken }),
    ]) {
      expect(await refusal(bad)).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
    }
    expect(await elsewhere.texts({ dictionary: name, query: 'a', pageSize: 9, pageToken })).toEqual([
      'ab',
      'ac',
    ]);
  });
});

describe('selections and recents', () => {
  test.concurrent(
    'move an entry up in its match kind, and recents come before all other entries',
    async () => {
      const name = await dictionary('selected', 'aa', 'ab', 'ac');
      expect(await client.select(name, 'ac', 3)).toBe(3n);
      expect(await elsewhere.select(name, 'ac')).toBe(4n);
      expect(await client.select(name, 'none')).toBe(0n);
      await client.addRecent({ list: 'of mine', text: 'ab', entryId: 'ab' });
      expect(await client.texts({ dictionary: name, query: 'a' })).toEqual(['ac', 'aa', 'ab']);
      const { suggestions } = await client.suggest({ dictionary: name, query: 'a', recentsList: 'of mine' });
      expect(suggestions).toMatchObject([
        { text: 'ab', recent: true },
        { text: 'ac', recent: false, score: 4n },
        { text: 'aa', recent: false, score: 0n },
      ]);
    },
  );

  test.concurrent('show every entry of a text once, if a recent without an id has that text', async () => {
    const name = await dictionary('apples');
    await client.put(name, { entryId: '1', text: 'Apple' }, { entryId: '5', text: 'apple' });
    const list = 'of apples';
    await client.addRecent({ list, text: 'Old apple', entryId: '1' });
    await client.addRecent({ list, text: 'APPLE' });
    const asked = { dictionary: name, query: 'a', recentsList: list };
    expect((await client.suggest(asked)).suggestions).toMatchObject([
      { text: 'APPLE', entryId: '5', recent: true },
      { text: 'Old apple', entryId: '1', recent: true },
    ]);
    const first = await client.suggest({ ...asked, pageSize: 1 });
    const second = await client.suggest({ ...asked, pageSize: 1, pageToken: first.nextPageToken });
    expect([...first.suggestions, ...second.suggestions]).toMatchObject([{ entryId: '5' }, { entryId: '1' }]);
    expect(second.nextPageToken).toBe('');
  });
});

describe('a dictionary that does not exist', () => {
  test.concurrent('answers NO_SUCH_DICTIONARY to every call that needs it', async () => {
    const name = 'nobody made';
    for (const call of [
      client.put(name, { entryId: 'a', text: 'a' }),
      client.delete(name, 'a'),
      client.select(name, 'a'),
      client.texts({ dictionary: name, query: 'a' }),
      client.list({ dictionary: name }),
      client.get(name),
    ]) {
      expect(await refusal(call)).toMatchObject({ code: 'NOT_FOUND', reason: 'NO_SUCH_DICTIONARY' });
    }
    expect(await client.call(client.stub.deleteDictionary, { dictionary: name })).toEqual({ deleted: false });
  });

  test.concurrent('is listed only between its creation and its deletion', async () => {
    const listed = async () => {
      const asked = { namePrefix: 'made ', pageSize: 0, pageToken: '' };
      return (await elsewhere.call(elsewhere.stub.listDictionaries, asked)).dictionaries.map(
        (dictionary) => dictionary.name,
      );
    };
    await dictionary('made 1');
    await dictionary('made 2');
    expect(await listed()).toEqual(['made 1', 'made 2']);
    expect(await client.call(client.stub.deleteDictionary, { dictionary: 'made 1' })).toEqual({
      deleted: true,
    });
    expect(await listed()).toEqual(['made 2']);
  });
});

describe('SuggestStream', () => {
  test.concurrent('answers each query in turn, and answers a bad query with an error message', async () => {
    const name = await dictionary('typed', 'abc', 'abd');
    const suggest = (query: string, dictionaryName = name) =>
      SuggestRequest.create({ dictionary: dictionaryName, query });
    const answers = await elsewhere.typed([
      { queryId: 1n, suggest: suggest('a') },
      { queryId: 2n, suggest: suggest('a', 'no dictionary') },
      { queryId: 3n, suggest: suggest('abd') },
    ]);
    expect(answers).toMatchObject([
      {
        queryId: 1n,
        result: { $case: 'suggestions', value: { suggestions: [{ text: 'abc' }, { text: 'abd' }] } },
      },
      { queryId: 2n, result: { $case: 'error', value: { code: 5 } } },
      { queryId: 3n, result: { $case: 'suggestions', value: { suggestions: [{ text: 'abd' }] } } },
    ]);
  });
});
