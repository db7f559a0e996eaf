import fc from 'fast-check';
import { QueryStream } from '../../src/transport/autocomplete/suggest-stream';

/** Which queries are looked up and answered, with nothing of gRPC around it. */

interface Lookup {
  readonly query: number;
  answer(): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Lets all promises that can go on do so. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A stream whose lookups and whose client are in the hands of the test. */
function stream() {
  const lookups: Lookup[] = [];
  const written: number[] = [];
  const client = { reads: true };
  const queries = new QueryStream<number, number>({
    ask: (query) =>
      new Promise((resolve, reject) => {
        const end = async (how: () => void): Promise<void> => {
          lookups.splice(lookups.indexOf(lookup), 1);
          how();
          await settled();
        };
        const lookup: Lookup = {
          query,
          answer: () => end(() => resolve(query)),
          fail: (error) => end(() => reject(error)),
        };
        lookups.push(lookup);
      }),
    write: (answer) => {
      written.push(answer);
      return client.reads;
    },
  });
  let ended: unknown = 'no';
  queries.ended.then(
    () => (ended = 'OK'),
    (error: unknown) => (ended = error),
  );
  const looking = () => lookups.map(({ query }) => query);
  return { queries, lookups, looking, written, client, ended: () => ended };
}

test('a query is looked up at once, and answered', async () => {
  const { queries, lookups, looking, written } = stream();
  queries.query(1);
  expect(looking()).toEqual([1]);
  await lookups[0]!.answer();
  expect(written).toEqual([1]);
  expect(looking()).toEqual([]);
});

test('one is looked up at a time, and of those that wait only the newest', async () => {
  const { queries, lookups, looking, written } = stream();
  for (const query of [1, 2, 3, 4]) queries.query(query);
  expect(looking()).toEqual([1]);
  await lookups[0]!.answer();
  expect(looking()).toEqual([4]);
  await lookups[0]!.answer();
  expect(written).toEqual([4]);
});

test('what came after an answer is answered in its turn', async () => {
  const { queries, lookups, written } = stream();
  for (const query of [1, 2, 3]) {
    queries.query(query);
    await lookups[0]!.answer();
  }
  expect(written).toEqual([1, 2, 3]);
});

test('while the client does not read, nothing is looked up; then the newest is', async () => {
  const { queries, lookups, looking, written, client } = stream();
  client.reads = false;
  queries.query(1);
  await lookups[0]!.answer();
  queries.query(2);
  queries.query(3);
  await settled();
  expect(looking()).toEqual([]);
  client.reads = true;
  queries.resume();
  expect(looking()).toEqual([3]);
  await lookups[0]!.answer();
  expect(written).toEqual([1, 3]);
});

describe('once it is finished', () => {
  test('the last query is answered, and then it ends', async () => {
    const { queries, lookups, written, ended } = stream();
    queries.query(1);
    queries.query(2);
    queries.finish();
    await lookups[0]!.answer();
    expect(ended()).toBe('no');
    await lookups[0]!.answer();
    expect(written).toEqual([2]);
    expect(ended()).toBe('OK');
  });

  test('it ends at once if all is answered, though the client has not read it', async () => {
    const { queries, lookups, client, ended } = stream();
    client.reads = false;
    queries.query(1);
    await lookups[0]!.answer();
    queries.finish();
    await settled();
    expect(ended()).toBe('OK');
  });

  test('a query that waits for a slow client is waited for', async () => {
    const { queries, lookups, written, client, ended } = stream();
    client.reads = false;
    queries.query(1);
    await lookups[0]!.answer();
    queries.query(2);
    queries.finish();
    await settled();
    expect(ended()).toBe('no');
    queries.resume();
    await lookups[0]!.answer();
    expect(written).toEqual([1, 2]);
    expect(ended()).toBe('OK');
  });
});

test.each([
  ['with an error', new Error('draining')],
  ['without one', undefined],
])('cut %s, it ends where it is: what is looked up is not answered', async (_what, error) => {
  const { queries, lookups, looking, written, ended } = stream();
  queries.query(1);
  queries.query(2);
  queries.cut(error);
  await settled();
  expect(ended()).toBe(error ?? 'OK');
  await lookups[0]!.answer();
  queries.query(3);
  queries.resume();
  await settled();
  expect(looking()).toEqual([]);
  expect(written).toEqual([]);
});

test('a lookup that fails ends it with that', async () => {
  const { queries, lookups, looking, ended } = stream();
  const defect = new Error('defect');
  queries.query(1);
  queries.query(2);
  await lookups[0]!.fail(defect);
  expect(ended()).toBe(defect);
  expect(looking()).toEqual([]);
});

test('an answer that cannot be written ends it with that', async () => {
  const queries = new QueryStream<number, number>({
    ask: (query) => Promise.resolve(query),
    write: () => {
      throw new Error('broken');
    },
  });
  queries.query(1);
  await expect(queries.ended).rejects.toThrow('broken');
});

test('whatever happens, answers come in order, one lookup at a time, and the last query is answered', async () => {
  const steps = fc.constantFrom('query', 'answer', 'stop reading', 'read');
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (plan) => {
      const { queries, lookups, written, client, ended } = stream();
      let asked = 0;
      for (const step of plan) {
        if (step === 'query') queries.query((asked += 1));
        else if (step === 'answer') await lookups[0]?.answer();
        else {
          client.reads = step === 'read';
          if (client.reads) queries.resume();
        }
        expect(lookups.length).toBeLessThanOrEqual(1);
      }
      client.reads = true;
      queries.resume();
      queries.finish();
      while (lookups.length > 0) await lookups[0]!.answer();
      await settled();
      expect(ended()).toBe('OK');
      expect(written).toEqual([...new Set(written)].sort((a, b) => a - b));
      expect(written.at(-1)).toBe(asked === 0 ? undefined : asked);
    }),
  );
});
