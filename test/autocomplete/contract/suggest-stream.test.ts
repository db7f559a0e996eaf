import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, type ServiceError, status } from '@grpc/grpc-js';
import { holdfastError } from '../../../clients/typescript';
import type {
  SuggestRequest,
  SuggestStreamResponse,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import { dictionaryLoading } from '../../../src/autocomplete/autocomplete-errors';
import {
  defaultAutocompleteLimits,
  type SuggestRequest as EngineRequest,
  type SuggestPage,
} from '../../../src/autocomplete/suggestion';
import { HoldfastError } from '../../../src/base/errors';
import { autocompleteCalls, suggestRequest } from '../../contract/autocomplete-calls';
import { newYork, onePage } from '../../contract/fake-engines';
import { call, Harness } from '../../contract/harness';
import { eventually } from '../../support/eventually';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.start({
    autocompleteLimits: { ...defaultAutocompleteLimits, maxSuggestStreams: 2 },
  });
});
afterEach(() => harness.close());

/** Opens a SuggestStream, and collects its answers and its end. */
function open(client = harness.completions(), options: Partial<CallOptions> = {}) {
  const stream = client.suggestStream(options);
  const answers: SuggestStreamResponse[] = [];
  let end: ServiceError | 'OK' | undefined;
  stream.on('data', (answer: SuggestStreamResponse) => answers.push(answer));
  stream.on('end', () => (end ??= 'OK'));
  stream.on('error', (error: ServiceError) => (end = error));
  return {
    stream,
    answers,
    ids: () => answers.map(({ queryId }) => Number(queryId)),
    ask: (queryId: number, fields: Partial<SuggestRequest> = {}) =>
      stream.write({ queryId: BigInt(queryId), suggest: suggestRequest(fields) }),
    ended: () => eventually('the stream to end', () => end),
    isOpen: () => end === undefined,
    /** Resolves after the server has read all earlier messages, because a connection is read in order. */
    allRead: () => call(client, client.getDictionary, { dictionary: 'behind' }),
  };
}

/** The request in a call of the engine's `suggest`. */
function engineRequest(made: readonly unknown[] | undefined): EngineRequest {
  return made?.[1] as EngineRequest;
}

/** Holds every lookup until the test releases the lookup by its query. */
function holdLookups() {
  const held = new Map<string, (page: SuggestPage) => void>();
  harness.autocomplete.answers.suggest = ({ query }) => new Promise((resolve) => held.set(query, resolve));
  return {
    isAsked: (query: string) => eventually(`${query} to be looked up`, () => held.has(query)),
    release: (query: string) => held.get(query)?.(onePage),
    queries: () => [...held.keys()],
  };
}

test('SuggestStream answers a query under its id, and the answer is the answer of Suggest', async () => {
  const { ask, answers } = open();
  ask(-7, { query: 'yo', recentsList: 'alice', pageSize: 3 });
  const [answer] = await eventually('the answer', () => answers.length > 0 && answers);
  const { suggest } = autocompleteCalls(harness);
  const value = await suggest({ query: 'yo', recentsList: 'alice', pageSize: 3 });
  expect(answer).toEqual({ queryId: -7n, result: { $case: 'suggestions', value } });
  const [streamed, called] = harness.autocomplete.calls;
  // The patience of a stream does not come from a deadline.
  expect(streamed).toEqual(['suggest', { ...engineRequest(called), asked: expect.anything() as unknown }]);
});

test('SuggestStream lets each query wait 5 s for a load, even if the stream has a deadline', async () => {
  for (const options of [{}, { deadline: Date.now() + 60_000 }]) {
    const { ask, answers } = open(harness.completions(), options);
    ask(1);
    await eventually('the answer', () => answers.length === 1);
  }
  const patience = harness.autocomplete.calls.map((made) => engineRequest(made).asked.patienceMs);
  expect(patience).toEqual([5000, 5000]);
});

test('SuggestStream passes the max_staleness of each query to the engine', async () => {
  const { ask, answers } = open();
  const spans = [undefined, { seconds: 1n, nanos: 500_000_000 }, { seconds: 3600n, nanos: 0 }];
  for (const [index, maxStaleness] of spans.entries()) {
    ask(index, { maxStaleness });
    await eventually('the answer', () => answers.length > index);
  }
  const staleness = harness.autocomplete.calls.map((made) => engineRequest(made).asked.maxStalenessMs);
  expect(staleness).toEqual([0, 1500, 3_600_000]);
});

test('SuggestStream answers only the newest of several unanswered queries', async () => {
  const lookups = holdLookups();
  const { ask, ids, stream, ended, allRead } = open();
  ask(1, { query: 'n' });
  await lookups.isAsked('n');
  ask(2, { query: 'ne' });
  ask(3, { query: 'new' });
  stream.end();
  await allRead();
  expect(lookups.queries()).toEqual(['n']);
  lookups.release('n');
  await lookups.isAsked('new');
  lookups.release('new');
  expect(await ended()).toBe('OK');
  expect(ids()).toEqual([3]);
  expect(lookups.queries()).toEqual(['n', 'new']);
});

describe('SuggestStream answers with an error message, and stays open,', () => {
  test.each<[string, Partial<SuggestRequest>, string]>([
    [
      'for a query without a dictionary',
      { dictionary: '' },
      'suggest.dictionary is required [INVALID_FIELD]',
    ],
    [
      'for a query of 10 kB',
      { query: 'x'.repeat(10_000) },
      'suggest.query is 10000 bytes of UTF-8; at most 512 are accepted [INVALID_FIELD]',
    ],
    [
      'for a negative page_size',
      { pageSize: -1 },
      'suggest.page_size is -1 and must not be negative [INVALID_FIELD]',
    ],
    [
      'for a negative max_staleness',
      { maxStaleness: { seconds: -1n, nanos: 0 } },
      'suggest.max_staleness is -1 s and must be from 0 ms to 1 h [INVALID_FIELD]',
    ],
    [
      'for a max_staleness above 1 h',
      { maxStaleness: { seconds: 7200n, nanos: 0 } },
      'suggest.max_staleness is 2 h and must be from 0 ms to 1 h [INVALID_FIELD]',
    ],
    [
      'for a malformed max_staleness',
      { maxStaleness: { seconds: 1n, nanos: -1 } },
      'suggest.max_staleness is not a valid Duration [INVALID_FIELD]',
    ],
  ])('%s', async (_title, fields, message) => {
    const { ask, answers, isOpen } = open();
    ask(1, fields);
    await eventually('the error', () => answers.length === 1);
    const value = { code: status.INVALID_ARGUMENT, reason: ErrorReason.ERROR_REASON_INVALID_FIELD, message };
    expect(answers[0]).toEqual({ queryId: 1n, result: { $case: 'error', value } });
    expect(harness.autocomplete.calls).toEqual([]);
    ask(2);
    await eventually('the next answer', () => answers.length === 2);
    expect(answers[1]?.result?.$case).toBe('suggestions');
    expect(isOpen()).toBe(true);
  });

  test('for a message without a query', async () => {
    const { stream, answers } = open();
    stream.write({ queryId: 5n, suggest: undefined });
    await eventually('the error', () => answers.length === 1);
    expect(answers[0]).toMatchObject({
      queryId: 5n,
      result: { value: { message: 'suggest is required [INVALID_FIELD]' } },
    });
  });

  test('for a dictionary that does not exist', async () => {
    harness.autocomplete.answers.suggest = () =>
      Promise.reject(new HoldfastError('NO_SUCH_DICTIONARY', 'dictionary "towns" does not exist; create it'));
    const { ask, answers } = open();
    ask(1);
    await eventually('the error', () => answers.length === 1);
    expect(answers[0]?.result).toEqual({
      $case: 'error',
      value: {
        code: status.NOT_FOUND,
        reason: ErrorReason.ERROR_REASON_NO_SUCH_DICTIONARY,
        message: 'dictionary "towns" does not exist; create it [NO_SUCH_DICTIONARY]',
      },
    });
  });

  test('for a dictionary that is still being loaded', async () => {
    harness.autocomplete.answers.suggest = () => Promise.reject(dictionaryLoading('towns'));
    const { ask, answers, isOpen } = open();
    ask(1);
    await eventually('the error', () => answers.length === 1);
    expect(answers[0]?.result).toMatchObject({
      $case: 'error',
      value: { code: status.UNAVAILABLE, reason: ErrorReason.ERROR_REASON_DICTIONARY_LOADING },
    });
    expect(isOpen()).toBe(true);
  });

  test('for a defect of the server, and does not show the text of the defect', async () => {
    harness.autocomplete.answers.suggest = () => Promise.reject(new Error('secret at key {t}:x'));
    const { ask, answers } = open();
    ask(1);
    await eventually('the error', () => answers.length === 1);
    const result = answers[0]?.result;
    const error = result?.$case === 'error' ? result.value : undefined;
    expect(error).toMatchObject({ code: status.INTERNAL, reason: ErrorReason.ERROR_REASON_INTERNAL });
    expect(error?.message).not.toContain('secret');
    expect(error?.message).toContain(harness.logged[0]?.fields.errorId);
  });
});

test('SuggestStream starts no lookup while the client does not read, and then looks up the newest query', async () => {
  // An answer has half a megabyte. A few such answers fill every flow control window.
  const large = { ...newYork, payload: Buffer.alloc(500_000) };
  harness.autocomplete.answers.suggest = ({ query }) =>
    Promise.resolve({ suggestions: [large], nextPageToken: query });
  const { stream, ask, ids, ended } = open();
  stream.pause();
  const sent = 300;
  for (let id = 1; id <= sent; id++) {
    ask(id, { query: String(id) });
    await sleep(2);
  }
  const lookedUp = harness.autocomplete.calls.length;
  expect(lookedUp).toBeGreaterThan(0);
  expect(lookedUp).toBeLessThan(100);
  await sleep(100);
  expect(harness.autocomplete.calls.length).toBe(lookedUp);
  stream.resume();
  await eventually('the newest answer', () => ids().at(-1) === sent);
  expect(harness.autocomplete.calls.length).toBe(lookedUp + 1);
  expect(ids()).toHaveLength(lookedUp + 1);
  stream.end();
  expect(await ended()).toBe('OK');
});

describe("SuggestStream after the client's half-close", () => {
  test('answers the last query, and ends OK', async () => {
    const lookups = holdLookups();
    const { stream, ask, ids, ended, isOpen, allRead } = open();
    ask(1, { query: 'n' });
    stream.end();
    await lookups.isAsked('n');
    await allRead();
    expect(isOpen()).toBe(true);
    lookups.release('n');
    expect(await ended()).toBe('OK');
    expect(ids()).toEqual([1]);
  });

  test('ends OK without a query', async () => {
    const { stream, ended } = open();
    stream.end();
    expect(await ended()).toBe('OK');
  });
});

test('a cancelled SuggestStream causes no log line, and does not count for maxSuggestStreams any more', async () => {
  const lookups = holdLookups();
  const client = harness.completions();
  for (let round = 0; round < 5; round++) {
    const { stream, ask, ended } = open(client);
    ask(1, { query: `q${round}` });
    await lookups.isAsked(`q${round}`);
    stream.cancel();
    expect(await ended()).toMatchObject({ code: status.CANCELLED });
    lookups.release(`q${round}`);
  }
  expect(harness.logged).toEqual([]);
});

describe('SuggestStream during a drain', () => {
  test('ends immediately with DRAINING, whether idle or busy', async () => {
    const lookups = holdLookups();
    const { ask, ids, ended } = open();
    const idle = open();
    ask(1, { query: 'n' });
    await lookups.isAsked('n');
    await idleIsOpen(idle);
    const drained = harness.drain(10_000);
    for (const end of [await ended(), await idle.ended()]) {
      expect(end).toMatchObject({ code: status.UNAVAILABLE });
      expect(holdfastError(end)).toMatchObject({ reason: 'DRAINING', retryAfterMs: 100 });
    }
    await drained;
    expect(ids()).toEqual([]);
    expect(harness.autocomplete.drainCount).toBe(1);
    lookups.release('n');
  });

  /** Waits for an answer, because the answer shows that the server has opened the stream. */
  async function idleIsOpen({ ask, answers }: ReturnType<typeof open>): Promise<void> {
    ask(1, { dictionary: '' });
    await eventually('the stream to open', () => answers.length === 1);
  }
});

test('SuggestStream answers QUOTA_EXCEEDED while maxSuggestStreams streams are open', async () => {
  const [first, second] = [open(), open()];
  for (const { ask, answers } of [first, second]) {
    ask(1);
    await eventually('the stream to open', () => answers.length === 1);
  }
  const third = open();
  const end = await third.ended();
  expect(end).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  expect(holdfastError(end)).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
  first.stream.end();
  expect(await first.ended()).toBe('OK');
  const fourth = open();
  fourth.ask(1);
  await eventually('the answer', () => fourth.answers.length === 1);
});
