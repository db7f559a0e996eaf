import { Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  SessionServiceService,
  type OpenSessionResponse,
} from '../../generated/typescript/holdfast/v1/session_service';
import { holdfastError } from '../../clients/typescript';
import { HoldfastError, StoreFailure, type ErrorDetails, type Reason } from '../../src/base/errors';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import { type ContractCall, contractCalls } from './contract-calls';
import { failureOf, Harness, TRACEPARENT, UUID_V4 } from './harness';
import { leaseCalls, SERVICES } from './services';
import { callSession } from './session-calls';

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.start();
});
beforeEach(() => harness.logged.splice(0));
afterAll(() => harness.close());

/** For each reason of the contract: the code, the default delay of RetryInfo, and whether a pushback is sent. */
const TABLE: Readonly<Record<Reason, readonly [status, number | undefined, 'pushback'?]>> = {
  INVALID_FIELD: [status.INVALID_ARGUMENT, undefined],
  REQUEST_MISMATCH: [status.INVALID_ARGUMENT, undefined],
  CONTENDED: [status.ABORTED, 1000],
  LEASE_LOST: [status.ABORTED, undefined],
  SUPERSEDED: [status.ABORTED, undefined],
  IMPORT_CONFLICT: [status.ABORTED, undefined],
  LEASE_NOT_HELD: [status.NOT_FOUND, undefined],
  NO_SUCH_SEMAPHORE: [status.NOT_FOUND, undefined],
  NO_SUCH_DICTIONARY: [status.NOT_FOUND, undefined],
  DICTIONARY_EXISTS: [status.ALREADY_EXISTS, undefined],
  LIMIT_MISMATCH: [status.FAILED_PRECONDITION, undefined],
  NEVER_FITS: [status.FAILED_PRECONDITION, undefined],
  REQUEST_FINISHED: [status.FAILED_PRECONDITION, undefined],
  SEMAPHORE_IN_USE: [status.FAILED_PRECONDITION, undefined],
  QUEUE_FULL: [status.RESOURCE_EXHAUSTED, 1000],
  QUOTA_EXCEEDED: [status.RESOURCE_EXHAUSTED, 1000],
  OVERLOADED: [status.RESOURCE_EXHAUSTED, 1000],
  STORE_FULL: [status.RESOURCE_EXHAUSTED, 5000],
  STORE_UNAVAILABLE: [status.UNAVAILABLE, 1000],
  OUTCOME_UNKNOWN: [status.UNAVAILABLE, 200],
  DRAINING: [status.UNAVAILABLE, 100, 'pushback'],
  QUARANTINED: [status.UNAVAILABLE, 1000, 'pushback'],
  REATTACH: [status.UNAVAILABLE, 0, 'pushback'],
  SESSION_SILENT: [status.UNAVAILABLE, 0],
  DICTIONARY_LOADING: [status.UNAVAILABLE, 1000, 'pushback'],
  NO_CREDENTIAL: [status.UNAUTHENTICATED, undefined],
  BAD_CREDENTIAL: [status.UNAUTHENTICATED, undefined],
  NOT_ALLOWED: [status.PERMISSION_DENIED, undefined],
  NOT_IMPLEMENTED: [status.UNIMPLEMENTED, undefined],
  INTERNAL: [status.INTERNAL, undefined],
};
const ROWS = Object.entries(TABLE) as [Reason, (typeof TABLE)[Reason]][];

/** The calls of ServerService do not call an engine. SuggestStream and OpenSession report errors in their messages. */
const CALLS = contractCalls([
  'GetServerInfo',
  'EndQuarantine',
  'ListCallers',
  'SuggestStream',
  'OpenSession',
]);

/** One call of each kind: unary, with a stream of answers, with a stream of requests. */
const CALL_OF_EACH_KIND: readonly ContractCall[] = ['AcquireLock', 'HoldLock', 'ImportDictionary'].map(
  (method) => CALLS.find(({ path }) => path.endsWith(`/${method}`))!,
);

/** The errors of calls when every engine call rejects with this error. */
async function failures(error: unknown, calls = CALL_OF_EACH_KIND): Promise<readonly ServiceError[]> {
  harness.permits.failWith(error);
  harness.autocomplete.failWith(error);
  return Promise.all(calls.map(({ failure }) => failure(harness)));
}

async function unaryFailure(message: string, details: ErrorDetails = {}, reason: Reason = 'CONTENDED') {
  const [error] = await failures(new HoldfastError(reason, message, details), CALL_OF_EACH_KIND.slice(0, 1));
  return error!;
}

test.each(['LEASE_LOST', 'DRAINING'] as const)(
  'every call of an engine sends the error %s',
  async (reason) => {
    const [code] = TABLE[reason];
    const errors = await failures(new HoldfastError(reason, 'no'), CALLS);
    expect(CALLS.length).toBeGreaterThan(30);
    expect(errors.map((error) => [error.code, error.details])).toEqual(
      CALLS.map(() => [code, `no [${reason}]`]),
    );
    expect(errors.map((error) => holdfastError(error)?.reason)).toEqual(CALLS.map(() => reason));
  },
);

describe.each(ROWS)('the error %s', (reason, [code, retryAfterMs, pushback]) => {
  test('is sent with its code, its reason in three places, and its retry delay', async () => {
    const details = { metadata: { cause: 'EXPIRED', holder_id: 'älice' } };
    for (const error of await failures(new HoldfastError(reason, 'lock "hello" is held', details))) {
      expect(error.code).toBe(code);
      expect(error.details).toBe(`lock "hello" is held [${reason}]`);
      expect(error.metadata.get('holdfast-reason')).toEqual([reason]);
      const pushedBack = pushback === undefined ? [] : [String(retryAfterMs)];
      expect(error.metadata.get('grpc-retry-pushback-ms')).toEqual(pushedBack);

      const [bytes] = error.metadata.get('grpc-status-details-bin') as Buffer[];
      expect(decodeStatusDetails(bytes!)).toEqual({
        code,
        message: error.details,
        reason,
        domain: 'holdfast',
        metadata: new Map(Object.entries(details.metadata)),
        retryAfterMs,
        violations: [],
      });
      expect(holdfastError(error)).toMatchObject({ reason, retryAfterMs });
    }
  });

  test("is sent with the engine's retry delay, rounded to whole milliseconds", async () => {
    for (const error of await failures(new HoldfastError(reason, 'no', { retryAfterMs: 1234.5 }))) {
      expect(holdfastError(error)?.retryAfterMs).toBe(1234);
      expect(error.metadata.get('grpc-retry-pushback-ms')).toEqual(pushback === undefined ? [] : ['1235']);
    }
  });
});

test('an error that a retry does not help has no RetryInfo, even if its reason has a delay', async () => {
  const error = await unaryFailure('no', { retryAfterMs: 'never' }, 'QUOTA_EXCEEDED');
  expect(holdfastError(error)).toMatchObject({ reason: 'QUOTA_EXCEEDED', retryAfterMs: undefined });
});

describe('a thrown value that is not a HoldfastError', () => {
  test.each([
    ['an Error, by every call', new Error('redis://:s3cret@10.0.0.1 EVALSHA failed'), 's3cret'],
    ['a TypeError', new TypeError('undefined is not a function at Permits.acquire (/srv/src/x.ts:1)'), 'srv'],
    ['a text', 'boom at line 7', 'line 7'],
    ['undefined', undefined, 'undefined'],
    ['an object that looks like a status', { code: 7, details: 'internal secret' }, 'secret'],
  ])('is answered with INTERNAL and logged whole: %s', async (title, thrown, leak) => {
    const calls = title.endsWith('by every call') ? CALLS : CALL_OF_EACH_KIND;
    for (const error of await failures(thrown, calls)) {
      expect(error.code).toBe(status.INTERNAL);
      expect(error.details).toMatch(/^the server failed; .* \[INTERNAL\]$/);
      expect(error.details + JSON.stringify(error.metadata.toJSON())).not.toContain(leak);
      const errorId = holdfastError(error)?.metadata.get('error_id');
      expect(errorId).toMatch(/^[0-9a-f-]{36}$/);
      expect(error.details).toContain(errorId);
      const logged = harness.logged.find(({ fields }) => fields['errorId'] === errorId);
      expect(logged).toMatchObject({ level: 'error', fields: { err: thrown } });
    }
    const loggedMethods = harness.logged.map(({ fields }) => fields['method']);
    expect(loggedMethods.sort()).toEqual(calls.map(({ path }) => path).sort());
  });

  test('is logged with the trace of its stream, if a command of a session fails', async () => {
    harness.permits.answers.take = () => Promise.reject(new Error('boom'));
    const metadata = new Metadata();
    metadata.set('traceparent', TRACEPARENT);
    metadata.set('x-request-id', 'job-7');
    const value = AcquireLockRequest.create({ name: 'hello', requestId: UUID_V4 });
    const { answers } = await callSession(harness.locks(), [{ $case: 'acquireLock', value }], metadata);
    const [{ event } = {}] = (answers as OpenSessionResponse[]).flatMap(({ events }) => events);
    const failed = event?.$case === 'failed' ? event.value : undefined;
    expect(failed?.reasonText).toBe('INTERNAL');
    const logged = harness.logged.find(
      ({ fields }) => fields['errorId'] === failed?.metadata.get('error_id'),
    );
    const fields = {
      traceparent: TRACEPARENT,
      callId: 'job-7',
      method: SessionServiceService.openSession.path,
    };
    expect(logged).toMatchObject({ level: 'error', fields });
  });

  test('is answered with INTERNAL even if the engine throws synchronously', async () => {
    harness.permits.answers.acquire = () => {
      throw new Error('at once');
    };
    for (const service of SERVICES) {
      const error = await failureOf(leaseCalls(harness, service).acquire());
      expect(holdfastError(error)?.reason).toBe('INTERNAL');
    }
  });

  test.each([
    [new StoreFailure('no', 'unavailable'), 'STORE_UNAVAILABLE'],
    [new StoreFailure('no', 'full'), 'STORE_FULL'],
    [new StoreFailure('unknown', 'unavailable'), 'OUTCOME_UNKNOWN'],
    [new StoreFailure('unknown', 'unconfirmed'), 'OUTCOME_UNKNOWN'],
  ])(
    'is answered with the matching reason if the value is a StoreFailure: %s, %s',
    async (failure, reason) => {
      for (const error of await failures(failure)) {
        expect(holdfastError(error)?.reason).toBe(reason);
        expect(error.details).not.toContain('carried out:');
      }
    },
  );
});

describe('an error text', () => {
  test('has lone surrogates replaced', async () => {
    const error = await unaryFailure('held by \uD800 and \uDC00');
    expect(error.code).toBe(status.ABORTED);
    expect(error.details).toBe('held by \u{FFFD} and \u{FFFD} [CONTENDED]');
  });

  test('has control characters replaced', async () => {
    const error = await unaryFailure('held by \x1b[31m\r\n\0');
    expect(error.details).toBe('held by \u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD} [CONTENDED]');
  });

  test('keeps percent signs and other Unicode characters', async () => {
    const error = await unaryFailure('100%25 “ünï😀” 日本');
    expect(error.details).toBe('100%25 “ünï😀” 日本 [CONTENDED]');
  });

  test.each(['x'.repeat(5000), '日本'.repeat(2000), '%'.repeat(3000), '😀'.repeat(1000)])(
    'is truncated before its reason, and is the same in the details: %.10s…',
    async (message) => {
      const error = await unaryFailure(message, { metadata: { holder_id: 'alice' } });
      expect(encodeURI(error.details).length).toBeLessThanOrEqual(2000);
      expect(encodeURI(error.details).length).toBeGreaterThan(1900);
      expect(error.details).toMatch(/… \[CONTENDED\]$/);
      const [bytes] = error.metadata.get('grpc-status-details-bin') as Buffer[];
      expect(decodeStatusDetails(bytes!)?.message).toBe(error.details);
    },
  );
});

test('all trailers together stay below the 8 KiB that Python and Java accept', async () => {
  const violations = Array.from({ length: 60 }, (_, index) => ({
    field: `field_${index}`,
    description: 'is wrong '.repeat(20),
  }));
  const metadata = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`key${index}`, 'v'.repeat(256)]),
  );
  const error = await unaryFailure(
    '日本'.repeat(2000),
    { violations, metadata, retryAfterMs: 1 },
    'DRAINING',
  );
  const [details] = error.metadata.get('grpc-status-details-bin') as Buffer[];
  expect(details!.length).toBeLessThanOrEqual(4096);
  const trailers = Object.entries({
    'grpc-status': '14',
    'grpc-message': encodeURI(error.details),
    'grpc-status-details-bin': details!.toString('base64'),
    'holdfast-reason': 'DRAINING',
    'grpc-retry-pushback-ms': '1',
    'content-type': 'application/grpc+proto',
    ':status': '200',
  });
  // HTTP/2 counts 32 bytes per header beside its name and value.
  expect(trailers.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)).toBeLessThan(
    8192,
  );
});
