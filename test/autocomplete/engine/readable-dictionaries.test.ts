import { Autocomplete, type NameReader } from '../../../src/autocomplete/autocomplete';
import type { EntryStore } from '../../../src/autocomplete/entry-store';
import { systemIdentities } from '../../../src/base/runtime';
import { namesUnder } from '../../support/fake-call';
import { ManualClock } from '../../support/manual-clock';

/** ListDictionaries for a caller that may not read every name. */

const NAMES = Array.from(
  { length: 100 },
  (_, index) => `${index % 10 === 7 ? 'b' : 'a'}-${String(index)}`,
).sort();

let inspected: string[];
let readCount: number;
beforeEach(() => {
  inspected = [];
  readCount = 0;
});

function engine(names: readonly string[] = NAMES): Autocomplete {
  const entries: Partial<EntryStore> = {
    names: (prefix, after, limit) => {
      readCount += 1;
      return Promise.resolve(
        names.filter((name) => name.startsWith(prefix) && name > (after ?? '')).slice(0, limit),
      );
    },
    inspect: (name) => {
      inspected.push(name);
      return Promise.resolve({ kind: 'ok' } as never);
    },
  };
  return new Autocomplete({
    entries: entries as EntryStore,
    recents: {} as never,
    indexes: { stateOf: () => ({ loadState: 'not-loaded', memoryBytes: 0 }) } as never,
    clock: new ManualClock(),
    identities: systemIdentities,
    onDefect: (error) => {
      throw error;
    },
  });
}

const reader = (prefix: string): NameReader => ({
  identity: `token:${prefix}`,
  cancelled: false,
  ...namesUnder(prefix),
});

async function all(of: Autocomplete, by: NameReader, pageSize: number) {
  const names: string[] = [];
  const tokens: string[] = [];
  for (let token = ''; ;) {
    const page = await of.listDictionaries('', pageSize, token, by);
    names.push(...page.dictionaries.map(({ name }) => name));
    token = page.nextPageToken;
    if (token === '') return { names, tokens };
    tokens.push(Buffer.from(token, 'base64url').toString('utf8', 8));
  }
}

test.each([1, 3, 10, 500])(
  'pages of %i have exactly the readable names, and the store is asked for no other',
  async (size) => {
    for (const prefix of ['a-', 'b-', '', 'c']) {
      inspected = [];
      const expected = NAMES.filter((name) => name.startsWith(prefix));
      expect((await all(engine(), reader(prefix), size)).names).toEqual(expected);
      expect(inspected).toEqual(expected);
    }
  },
);

test('no page token has a name that the caller may not read', async () => {
  const { tokens } = await all(engine(), reader('b-'), 3);
  expect(tokens.length).toBeGreaterThan(1);
  expect(tokens.filter((token) => !token.startsWith('"b-'))).toEqual([]);
});

test('a page token of another identity is refused', async () => {
  const { nextPageToken } = await engine().listDictionaries('', 3, '', reader('a-'));
  await expect(engine().listDictionaries('', 3, nextPageToken, reader('b-'))).rejects.toMatchObject({
    reason: 'INVALID_FIELD',
  });
});

test('a call skips any number of names that the caller may not read', async () => {
  const foreign = ['a', 'c'].flatMap((team) => Array.from({ length: 500 }, (_, index) => `${team}-${index}`));
  const many = [...foreign, 'b-1'].sort();
  expect((await all(engine(many), reader('b-'), 1)).names).toEqual(['b-1']);
  expect(readCount).toBeLessThanOrEqual(3);
});

test('a caller that may read no name with the prefix costs no command', async () => {
  const { dictionaries, nextPageToken } = await engine().listDictionaries('a-', 1, '', reader('b-'));
  expect([dictionaries, nextPageToken, readCount]).toEqual([[], '', 0]);
});

test('a list ends when its call is cancelled', async () => {
  const cancelled = { ...reader('b-'), nextReadable: (name: string) => name, cancelled: true };
  await engine().listDictionaries('', 1, '', cancelled);
  expect(readCount).toBe(0);
});
