import fc from 'fast-check';
import { QueryStream } from '../../src/autocomplete/service/suggest-stream';

/** Checks QueryStream without gRPC. */

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
  const lookedUp = () => lookups.map(({ query }) => query);
  return { queries, lookups, lookedUp, written, client, ended: () => ended };
}

test('QueryStream looks up the first query immediately, and writes the answer', async () => {
  const { queries, lookups, lookedUp, written } = stream();
  queries.push(1);
  expect(lookedUp()).toEqual([1]);
  await lookups[0]!.answer();
  expect(written).toEqual([1]);
  expect(lookedUp()).toEqual([]);
});

test('QueryStream looks up one query at a time, and then only the newest waiting query', async () => {
  const { queries, lookups, lookedUp, written } = stream();
  for (const query of [1, 2, 3, 4]) queries.push(query);
  expect(lookedUp()).toEqual([1]);
  await lookups[0]!.answer();
  expect(lookedUp()).toEqual([4]);
  await lookups[0]!.answer();
  expect(written).toEqual([4]);
});

test('QueryStream answers each query that comes after the previous answer', async () => {
  const { queries, lookups, written } = stream();
  for (const query of [1, 2, 3]) {
    queries.push(query);
    await lookups[0]!.answer();
  }
  expect(written).toEqual([1, 2, 3]);
});

test('QueryStream starts no lookup while the client does not read, and then looks up the newest query', async () => {
  const { queries, lookups, lookedUp, written, client } = stream();
  client.reads = false;
  queries.push(1);
  await lookups[0]!.answer();
  queries.push(2);
  queries.push(3);
  await settled();
  expect(lookedUp()).toEqual([]);
  client.reads = true;
  queries.resume();
  expect(lookedUp()).toEqual([3]);
  await lookups[0]!.answer();
  expect(written).toEqual([1, 3]);
});

describe('finish() of QueryStream', () => {
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

  test('ends the stream immediately if no query waits, even if the client does not read', async () => {
    const { queries, lookups, client, ended } = stream();
    client.reads = false;
    queries.push(1);
    await lookups[0]!.answer();
    queries.finish();
    await settled();
    expect(ended()).toBe('OK');
  });

  test('does not end the stream before a query that waits for a slow client is answered', async () => {
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
  ['without an error', undefined],
])('abort() of QueryStream %s ends the stream without further answers', async (_title, error) => {
  const { queries, lookups, lookedUp, written, ended } = stream();
  queries.push(1);
  queries.push(2);
  queries.abort(error);
  await settled();
  expect(ended()).toBe(error ?? 'OK');
  await lookups[0]!.answer();
  queries.push(3);
  queries.resume();
  await settled();
  expect(lookedUp()).toEqual([]);
  expect(written).toEqual([]);
});

test('QueryStream ends with the error of a lookup that fails', async () => {
  const { queries, lookups, lookedUp, ended } = stream();
  const defect = new Error('defect');
  queries.push(1);
  queries.push(2);
  await lookups[0]!.fail(defect);
  expect(ended()).toBe(defect);
  expect(lookedUp()).toEqual([]);
});

test('QueryStream ends with the error of a write that fails', async () => {
  const queries = new QueryStream<number, number>({
    lookUp: (query) => Promise.resolve(query),
    write: () => {
      throw new Error('broken');
    },
  });
  queries.push(1);
  await expect(queries.ended).rejects.toThrow('broken');
});

test('QueryStream keeps the order, makes one lookup at a time, and answers the last query, for any sequence of steps', async () => {
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
