import { status, type ServiceError } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import { HoldfastError, StoreFailure, type ErrorDetails, type Reason } from '../../src/engine/errors';
import { decodeStatusDetails } from '../../src/wire/status-details';
import { SemaphoreServiceClient } from '../../generated/typescript/holdfast/v1/semaphore_service';
import { autocompleteCalls, commit, ImportCall, start, type AutocompleteCalls } from './autocomplete-calls';
import { VERBS } from './fake-autocomplete';
import { call, failureOf, Harness, UUID_V4 } from './harness';
import { leaseCalls, SERVICES, type LeaseCalls } from './services';

let harness: Harness;
let services: readonly LeaseCalls[];
let semaphores: SemaphoreServiceClient;
let autocomplete: AutocompleteCalls;
beforeAll(async () => {
  harness = await Harness.start();
  services = SERVICES.map((service) => leaseCalls(harness, service));
  semaphores = harness.client(SemaphoreServiceClient);
  autocomplete = autocompleteCalls(harness);
});
beforeEach(() => harness.logged.splice(0));
afterAll(() => harness.close());

/** The contract's table: the code, the delay of RetryInfo where the engine names none, and who gets a pushback. */
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
  STORE_FULL: [status.RESOURCE_EXHAUSTED, 5000],
  STORE_UNAVAILABLE: [status.UNAVAILABLE, 1000],
  OUTCOME_UNKNOWN: [status.UNAVAILABLE, undefined],
  DRAINING: [status.UNAVAILABLE, 100, 'pushback'],
  QUARANTINED: [status.UNAVAILABLE, 1000, 'pushback'],
  REATTACH: [status.UNAVAILABLE, 0, 'pushback'],
  NOT_IMPLEMENTED: [status.UNIMPLEMENTED, undefined],
  INTERNAL: [status.INTERNAL, undefined],
};
const ROWS = Object.entries(TABLE) as [Reason, (typeof TABLE)[Reason]][];

/** What each call of each service, SuggestStream aside, ends with when the engine throws `error`. */
async function allFailures(error: unknown): Promise<readonly ServiceError[]> {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- that is what is tried here
  const reject = (): Promise<never> => Promise.reject(error);
  const verbs = [
    'onAcquire',
    'onHold',
    'onRenew',
    'onRelease',
    'onInspect',
    'onSetLimit',
    'onRemove',
  ] as const;
  for (const verb of verbs) harness.engine[verb] = reject;
  const failures: ServiceError[] = [];
  for (const { acquire, hold, renew, release, get, leaseId } of services) {
    failures.push(await failureOf(acquire()));
    failures.push((await hold({ $case: 'acquire', value: { requestId: UUID_V4 } })).error!);
    failures.push(await failureOf(renew({ leaseId, ttl: undefined })));
    failures.push(await failureOf(release(leaseId)));
    failures.push(await failureOf(get('hello')));
  }
  const limit = { name: 'hello', limit: 1, expectedLimit: undefined };
  failures.push(await failureOf(call(semaphores, semaphores.setSemaphoreLimit, limit)));
  const name = { name: 'hello', force: false };
  failures.push(await failureOf(call(semaphores, semaphores.deleteSemaphore, name)));
  for (const verb of VERBS) harness.autocomplete.told[verb] = reject;
  for (const ask of Object.values(autocomplete)) failures.push(await failureOf(ask()));
  const importing = new ImportCall(harness.completions());
  failures.push(await failureOf(importing.all(start, commit(0))));
  return failures;
}

async function unaryFailure(message: string, details: ErrorDetails = {}, reason: Reason = 'CONTENDED') {
  const [error] = await allFailures(new HoldfastError(reason, message, details));
  return error!;
}

describe.each(ROWS)('%s', (reason, [code, retryAfterMs, pushback]) => {
  test('has its code, its word three times, and advice on retrying', async () => {
    const details = { metadata: { cause: 'EXPIRED', holder_id: 'älice' } };
    for (const error of await allFailures(new HoldfastError(reason, 'lock "hello" is held', details))) {
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

  test('waits for as long as the engine knows to be right', async () => {
    for (const error of await allFailures(new HoldfastError(reason, 'no', { retryAfterMs: 1234.5 }))) {
      expect(holdfastError(error)?.retryAfterMs).toBe(1234);
      expect(error.metadata.get('grpc-retry-pushback-ms')).toEqual(pushback === undefined ? [] : ['1235']);
    }
  });
});

describe('what is no error for callers', () => {
  test.each([
    ['an Error', new Error('redis://:s3cret@10.0.0.1 EVALSHA failed'), 's3cret'],
    ['a TypeError', new TypeError('undefined is not a function at Permits.acquire (/srv/src/x.ts:1)'), 'srv'],
    ['a text', 'boom at line 7', 'line 7'],
    ['nothing', undefined, 'undefined'],
    ['something that looks like a status', { code: 7, details: 'internal secret' }, 'secret'],
  ])('%s is INTERNAL, bland outside and whole in the log', async (_what, thrown, leak) => {
    for (const error of await allFailures(thrown)) {
      expect(error.code).toBe(status.INTERNAL);
      expect(error.details).toMatch(/^the server failed; .* \[INTERNAL\]$/);
      expect(error.details + JSON.stringify(error.metadata.toJSON())).not.toContain(leak);
      const errorId = holdfastError(error)?.metadata.get('error_id');
      expect(errorId).toMatch(/^[0-9a-f-]{36}$/);
      expect(error.details).toContain(errorId);
      const logged = harness.logged.find(({ fields }) => fields['errorId'] === errorId);
      expect(logged).toMatchObject({ level: 'error', fields: { err: thrown } });
    }
    expect(harness.logged.map(({ fields }) => fields['method'])).toEqual([
      '/holdfast.v1.LockService/AcquireLock',
      '/holdfast.v1.LockService/HoldLock',
      '/holdfast.v1.LockService/RenewLock',
      '/holdfast.v1.LockService/ReleaseLock',
      '/holdfast.v1.LockService/GetLock',
      '/holdfast.v1.SemaphoreService/AcquirePermits',
      '/holdfast.v1.SemaphoreService/HoldPermits',
      '/holdfast.v1.SemaphoreService/RenewPermits',
      '/holdfast.v1.SemaphoreService/ReleasePermits',
      '/holdfast.v1.SemaphoreService/GetSemaphore',
      '/holdfast.v1.SemaphoreService/SetSemaphoreLimit',
      '/holdfast.v1.SemaphoreService/DeleteSemaphore',
      '/holdfast.v1.AutocompleteService/AddRecent',
      '/holdfast.v1.AutocompleteService/RemoveRecent',
      '/holdfast.v1.AutocompleteService/SuggestRecents',
      '/holdfast.v1.AutocompleteService/DeleteRecents',
      '/holdfast.v1.AutocompleteService/CreateDictionary',
      '/holdfast.v1.AutocompleteService/PutEntries',
      '/holdfast.v1.AutocompleteService/DeleteEntries',
      '/holdfast.v1.AutocompleteService/RecordSelection',
      '/holdfast.v1.AutocompleteService/Suggest',
      '/holdfast.v1.AutocompleteService/ListEntries',
      '/holdfast.v1.AutocompleteService/GetDictionary',
      '/holdfast.v1.AutocompleteService/ListDictionaries',
      '/holdfast.v1.AutocompleteService/DeleteDictionary',
      '/holdfast.v1.AutocompleteService/ImportDictionary',
    ]);
  });

  test('a handler that throws at once is no different from one that rejects', async () => {
    harness.engine.onAcquire = () => {
      throw new Error('at once');
    };
    for (const { acquire } of services)
      expect(holdfastError(await failureOf(acquire()))?.reason).toBe('INTERNAL');
  });

  test.each([
    [new StoreFailure('no', 'unavailable'), 'STORE_UNAVAILABLE'],
    [new StoreFailure('no', 'full'), 'STORE_FULL'],
    [new StoreFailure('unknown', 'unavailable'), 'OUTCOME_UNKNOWN'],
  ])('a store failure that the engine let through (%s) tells no lie', async (failure, reason) => {
    for (const error of await allFailures(failure)) {
      expect(holdfastError(error)?.reason).toBe(reason);
      expect(error.details).not.toContain('carried out:');
    }
  });
});

describe('whatever is in the text', () => {
  test('a lone surrogate does not change the code', async () => {
    const error = await unaryFailure('held by \uD800 and \uDC00');
    expect(error.code).toBe(status.ABORTED);
    expect(error.details).toBe('held by \u{FFFD} and \u{FFFD} [CONTENDED]');
  });

  test('control characters do not reach a terminal', async () => {
    const error = await unaryFailure('held by \x1b[31m\r\n\0');
    expect(error.details).toBe('held by \u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD} [CONTENDED]');
  });

  test('per cent signs and all of Unicode come as they are', async () => {
    const error = await unaryFailure('100%25 “ünï😀” 日本');
    expect(error.details).toBe('100%25 “ünï😀” 日本 [CONTENDED]');
  });

  test.each(['x'.repeat(5000), '日本'.repeat(2000), '%'.repeat(3000), '😀'.repeat(1000)])(
    'a long one is cut, keeps its word, and is the same in the details',
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

test('all trailers together fit in the 8 kB that Python and Java take', async () => {
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
  // As HTTP/2 counts a header: name, value, and 32.
  expect(trailers.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)).toBeLessThan(
    8192,
  );
});
