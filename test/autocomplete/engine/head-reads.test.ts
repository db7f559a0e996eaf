import { systemClock } from '../../../src/base/clock';
import type { Head } from '../../../src/autocomplete/entry-store';
import { HeadReads } from '../../../src/autocomplete/loaded/store-reads';
import { StoreFailure } from '../../../src/base/errors';

function headOf(version: number): Head {
  const profile = { accents: 'kept', typos: true } as const;
  return { kind: 'head', profile, generationId: 'g', version, tail: `t${version}` };
}

/** A store whose versions rise with each read. */
function countingStore() {
  const names: string[] = [];
  const head = (name: string) => Promise.resolve(headOf(names.push(name)));
  return { names, head };
}

test('sends one read for all queries of a turn', async () => {
  const store = countingStore();
  const reads = new HeadReads(store, systemClock);
  const answers = await Promise.all([reads.read('a'), reads.read('a'), reads.read('b'), reads.read('a')]);
  expect(store.names).toEqual(['a', 'b']);
  expect(answers.map(({ head }) => head)).toEqual([headOf(1), headOf(1), headOf(2), headOf(1)]);
});

test('sends another read for a query that arrives after the read was sent', async () => {
  let answer: (head: Head) => void = () => undefined;
  const sent: string[] = [];
  const head = (name: string) => {
    sent.push(name);
    return new Promise<Head>((resolve) => (answer = resolve));
  };
  const reads = new HeadReads({ head }, systemClock);
  const first = reads.read('a');
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(sent).toEqual(['a']);
  const answerFirst = answer;
  const second = reads.read('a');
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(sent).toEqual(['a', 'a']);
  answerFirst(headOf(1));
  answer(headOf(2));
  expect((await first).head).toEqual(headOf(1));
  expect((await second).head).toEqual(headOf(2));
});

test('reports a time between the query and the send of the read', async () => {
  const asked = systemClock.now();
  let sentAt = 0;
  const head = () => {
    sentAt = systemClock.now();
    return Promise.resolve(headOf(1));
  };
  const { notBefore } = await new HeadReads({ head }, systemClock).read('a');
  expect(notBefore).toBeGreaterThanOrEqual(asked);
  expect(notBefore).toBeLessThanOrEqual(sentAt);
});

test('rejects all queries of the turn if the store fails, and reads again for later queries', async () => {
  let fails = true;
  const head = () =>
    fails ? Promise.reject(new StoreFailure('no', 'unavailable')) : Promise.resolve(headOf(3));
  const reads = new HeadReads({ head }, systemClock);
  const settled = await Promise.allSettled([reads.read('a'), reads.read('a')]);
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect((await reads.read('a')).head).toEqual(headOf(3));
});
