import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { holdfastError } from '../../../clients/typescript';
import {
  AutocompleteServiceService,
  ImportDictionaryRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { QueryStream } from '../../../src/autocomplete/service/suggest-stream';
import { defaultAutocompleteLimits } from '../../../src/autocomplete/suggestion';
import { HoldfastError } from '../../../src/base/errors';
import { batch, commit, entries, entry, ImportCall, start } from '../../contract/autocomplete-calls';
import { towns } from '../../contract/fake-engines';
import { failureOf, Harness } from '../../contract/harness';
import { frame, RawConnection } from '../../contract/raw-call';
import { eventually } from '../../support/eventually';
import { assertWithinTime } from '../../support/timed-property';

describe('import dictionary', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.close());

  const importing = () => new ImportCall(harness.completions());
  const called = (verb: string) =>
    eventually(`the call ${verb}`, () => harness.autocomplete.verbs.includes(verb));

  /** A promise that the test fulfils or rejects. */
  function gate() {
    let open: () => void = () => undefined;
    let refuse: (error: Error) => void = () => undefined;
    const passed = new Promise<void>((resolve, reject) => {
      open = resolve;
      refuse = reject;
    });
    return { passed, open: () => open(), refuse: (error: Error) => refuse(error) };
  }

  test('ImportDictionary puts a batch only after the previous batch is in the store', async () => {
    const first = gate();
    harness.importSession.answers.put = () => first.passed;
    const call = importing();
    const answer = call.all(start, batch([entry()]), batch([entry()]), commit(2));
    await called('put');
    await sleep(50);
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put']);
    first.open();
    await answer;
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'put', 'commit']);
  });

  test('ImportDictionary slows a client that sends faster than the store writes', async () => {
    const first = gate();
    harness.importSession.answers.put = () => first.passed;
    const call = importing();
    call.send(start);
    // A batch has about 1 MB. A flow control window holds at most two batches.
    const large = batch(entries(1000).map((small) => ({ ...small, payload: Buffer.alloc(1000) })));
    let writtenCount = 0;
    for (let sent = 0; sent < 12; sent++) call.stream.write({ part: large }, () => (writtenCount += 1));
    await called('put');
    await sleep(300);
    // The engine has the first batch, the server has read the second batch, and the socket buffers hold the rest.
    expect(writtenCount).toBeLessThan(8);
    first.open();
    call.send(commit(12_000));
    call.stream.end();
    await call.answer;
    expect(writtenCount).toBe(12);
  });

  test("ImportDictionary commits only after the client's half-close", async () => {
    const call = importing();
    call.send(start);
    call.send(commit(0));
    await called('startImport');
    await sleep(50);
    expect(harness.autocomplete.verbs).toEqual(['startImport']);
    call.stream.end();
    await call.answer;
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'commit']);
  });

  describe('ImportDictionary abandons the import', () => {
    test('when the client cancels', async () => {
      const call = importing();
      call.send(start);
      call.send(batch([entry()]));
      await called('put');
      call.stream.cancel();
      await called('abandon');
      expect((await failureOf(call.answer)).code).toBe(status.CANCELLED);
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'abandon']);
      expect(harness.logged).toEqual([]);
    });

    test('when the client cancels during a put, but not before the end of that put', async () => {
      const first = gate();
      harness.importSession.answers.put = () => first.passed;
      const call = importing();
      call.send(start);
      call.send(batch([entry()]));
      await called('put');
      call.stream.cancel();
      await failureOf(call.answer);
      await sleep(50);
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'put']);
      first.open();
      await called('abandon');
      expect(harness.logged).toEqual([]);
    });

    test('when the deadline expires', async () => {
      const client = harness.completions();
      const failed = new Promise<number>((resolve) => {
        // A busy machine needs some of this time until the server has read the start.
        const stream = client.importDictionary({ deadline: Date.now() + 2000 } as never, (error) =>
          resolve(error?.code ?? status.OK),
        );
        stream.write({ part: start });
      });
      expect(await failed).toBe(status.DEADLINE_EXCEEDED);
      await called('abandon');
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
    });

    test('when the connection closes', async () => {
      const connection = new RawConnection(harness.target);
      const body = frame(ImportDictionaryRequest.encode({ part: start }).finish());
      void connection.call({
        path: AutocompleteServiceService.importDictionary.path,
        body,
        halfClose: false,
      });
      await called('startImport');
      connection.close();
      await called('abandon');
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
    });

    test('when the engine refuses a batch while the client still sends', async () => {
      harness.importSession.answers.put = () =>
        Promise.reject(new HoldfastError('IMPORT_CONFLICT', 'another import won'));
      const call = importing();
      call.send(start);
      call.send(batch([entry()]));
      const error = await failureOf(call.answer);
      expect(error.code).toBe(status.ABORTED);
      expect(error.details).toBe('another import won [IMPORT_CONFLICT]');
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'abandon']);
    });

    test('when the client sends no message for maxImportIdleMs', async () => {
      const impatient = await Harness.start({
        autocompleteLimits: { ...defaultAutocompleteLimits, maxImports: 1, maxImportIdleMs: 200 },
      });
      const client = impatient.completions();
      // The store is slower than maxImportIdleMs. Its time does not count as the client's idle time.
      impatient.importSession.answers.put = () => sleep(400);
      const call = new ImportCall(client);
      call.send(start);
      call.send(batch([entry()]));
      call.send(batch([entry()]));
      const error = await failureOf(call.answer);
      expect(holdfastError(error)).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
      expect(error.details).toContain('the import received no message for 200 ms');
      expect(impatient.autocomplete.verbs).toEqual(['startImport', 'put', 'put', 'abandon']);
      await new ImportCall(client).all(start, commit(0));
      await impatient.close();
    });

    test('when the server drains', async () => {
      const call = importing();
      call.send(start);
      await called('startImport');
      const drained = harness.drain(10_000);
      const error = await failureOf(call.answer);
      expect(error.code).toBe(status.UNAVAILABLE);
      expect(holdfastError(error)?.reason).toBe('DRAINING');
      await drained;
      expect(harness.autocomplete.verbs).toEqual(['startImport', 'abandon']);
    });
  });

  test('ImportDictionary answers a commit that started before the drain', async () => {
    const committing = gate();
    harness.importSession.answers.commit = () => committing.passed.then(() => towns);
    const answer = importing().all(start, commit(0));
    await called('commit');
    const drained = harness.drain(10_000);
    await eventually('the engine to drain', () => harness.autocomplete.drainCount === 1);
    committing.open();
    expect((await answer).dictionary?.name).toBe('towns');
    await drained;
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'commit']);
  });

  test('ImportDictionary does not abandon an import after a refused commit', async () => {
    harness.importSession.answers.commit = () =>
      Promise.reject(new HoldfastError('INVALID_FIELD', 'commit.entry_count is 2, but 1 entry was sent'));
    const error = await failureOf(importing().all(start, batch([entry()]), commit(2)));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'commit']);
  });

  test('ImportDictionary does not abandon an import that could not start', async () => {
    harness.autocomplete.answers.startImport = () =>
      Promise.reject(new HoldfastError('DICTIONARY_EXISTS', 'dictionary "towns" drops accents'));
    const error = await failureOf(importing().all(start, commit(0)));
    expect(error.code).toBe(status.ALREADY_EXISTS);
    expect(harness.autocomplete.verbs).toEqual(['startImport']);
  });

  test('ImportDictionary answers QUOTA_EXCEEDED while maxImports imports are open', async () => {
    const { maxImports } = defaultAutocompleteLimits;
    const open = Array.from({ length: maxImports }, () => importing());
    for (const call of open) call.send(start);
    await eventually('all imports to start', () => harness.autocomplete.calls.length === maxImports);
    const error = await failureOf(importing().all(start, commit(0)));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(holdfastError(error)?.reason).toBe('QUOTA_EXCEEDED');
    expect(error.details).toContain('16 open imports');
    await open[0]!.all(commit(0));
    await importing().all(start, commit(0));
  });

  test('imports without a start do not count for maxImports', async () => {
    const { maxImports } = defaultAutocompleteLimits;
    const connection = new RawConnection(harness.target);
    const { path } = AutocompleteServiceService.importDictionary;
    const silent = Array.from({ length: 2 * maxImports }, () => connection.open({ path }));
    // The server has accepted the calls before this one.
    await connection.call({ path: '/grpc.health.v1.Health/Check', body: frame(Buffer.alloc(0)) });
    await importing().all(start, commit(0));
    for (const stream of silent) stream.cancel();
    connection.close();
  });

  test('imports without a start end with DRAINING when the server stops', async () => {
    const connection = new RawConnection(harness.target);
    const { outcome } = connection.open({ path: AutocompleteServiceService.importDictionary.path });
    await connection.call({ path: '/grpc.health.v1.Health/Check', body: frame(Buffer.alloc(0)) });
    await harness.drain();
    expect((await outcome).reason).toBe('DRAINING');
  });
});

describe('query stream', () => {
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
    await assertWithinTime(
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
});
