import fc from 'fast-check';
import { QueryStream } from '../../src/transport/autocomplete/suggest-stream';

/** QueryStream without gRPC. */

interface Lookup {
  readonly query: number;
  answer(): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Lets all settled promises run their callbacks. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A stream with lookups and a client that the test controls. */
function stream() {
  const lookups: Lookup[] = [];
  const written: number[] = [];
  const client = { reads: true };
  const queries = new QueryStream<number, number>({
    lookUp: (query) =>
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
  let ended: unknown = 'open';
  queries.ended.then(
    () => (ended = 'OK'),
    (error: unknown) => (ended = error),
  );
  const looking = () => lookups.map(({ query }) => query);
  return { queries, lookups, looking, written, client, ended: () => ended };
}

test('looks up a query at once and answers it', async () => {
  const { queries, lookups, looking, written } = stream();
  queries.push(1);
  expect(looking()).toEqual([1]);
  await lookups[0]!.answer();
  expect(written).toEqual([1]);
  expect(looking()).toEqual([]);
});

test('looks up one query at a time, and skips all waiting queries but the newest', async () => {
  const { queries, lookups, looking, written } = stream();
  for (const query of [1, 2, 3, 4]) queries.push(query);
  expect(looking()).toEqual([1]);
  await lookups[0]!.answer();
  expect(looking()).toEqual([4]);
  await lookups[0]!.answer();
  expect(written).toEqual([4]);
});

test('answers a query that comes after an answer', async () => {
  const { queries, lookups, written } = stream();
  for (const query of [1, 2, 3]) {
    queries.push(query);
    await lookups[0]!.answer();
  }
  expect(written).toEqual([1, 2, 3]);
});

test('starts no lookup while the client does not read, then looks up the newest query', async () => {
  const { queries, lookups, looking, written, client } = stream();
  client.reads = false;
  queries.push(1);
  await lookups[0]!.answer();
  queries.push(2);
  queries.push(3);
  await settled();
  expect(looking()).toEqual([]);
  client.reads = true;
  queries.resume();
  expect(looking()).toEqual([3]);
  await lookups[0]!.answer();
  expect(written).toEqual([1, 3]);
});

describe('finish', () => {
  test('ends the stream after the answer to the last query', async () => {
    const { queries, lookups, written, ended } = stream();
    queries.push(1);
    queries.push(2);
    queries.finish();
    await lookups[0]!.answer();
    expect(ended()).toBe('open');
    await lookups[0]!.answer();
    expect(written).toEqual([2]);
    expect(ended()).toBe('OK');
  });

  test('ends the stream at once without a waiting query, also if the client has not read', async () => {
    const { queries, lookups, client, ended } = stream();
    client.reads = false;
    queries.push(1);
    await lookups[0]!.answer();
    queries.finish();
    await settled();
    expect(ended()).toBe('OK');
  });

  test('waits for a query that waits for a slow client', async () => {
    const { queries, lookups, written, client, ended } = stream();
    client.reads = false;
    queries.push(1);
    await lookups[0]!.answer();
    queries.push(2);
    queries.finish();
    await settled();
    expect(ended()).toBe('open');
    queries.resume();
    await lookups[0]!.answer();
    expect(written).toEqual([1, 2]);
    expect(ended()).toBe('OK');
  });
});

test.each([
  ['with an error', new Error('draining')],
  ['without one', undefined],
])('abort %s ends the stream without further answers', async (_title, error) => {
  const { queries, lookups, looking, written, ended } = stream();
  queries.push(1);
  queries.push(2);
  queries.abort(error);
  await settled();
  expect(ended()).toBe(error ?? 'OK');
  await lookups[0]!.answer();
  queries.push(3);
  queries.resume();
  await settled();
  expect(looking()).toEqual([]);
  expect(written).toEqual([]);
});

test('a rejected lookup ends the stream with its error', async () => {
  const { queries, lookups, looking, ended } = stream();
  const defect = new Error('defect');
  queries.push(1);
  queries.push(2);
  await lookups[0]!.fail(defect);
  expect(ended()).toBe(defect);
  expect(looking()).toEqual([]);
});

test('an error of write ends the stream', async () => {
  const queries = new QueryStream<number, number>({
    lookUp: (query) => Promise.resolve(query),
    write: () => {
      throw new Error('broken');
    },
  });
  queries.push(1);
  await expect(queries.ended).rejects.toThrow('broken');
});

test('any plan keeps the order, one lookup at a time, and answers the last query', async () => {
  const steps = fc.constantFrom('query', 'answer', 'stop reading', 'read');
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (plan) => {
      const { queries, lookups, written, client, ended } = stream();
      let asked = 0;
      for (const step of plan) {
        if (step === 'query') queries.push((asked += 1));
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
