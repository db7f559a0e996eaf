import { status } from '@grpc/grpc-js';
import {
  QuarantineCause,
  StoreState,
  type EndQuarantineResponse,
} from '../../generated/typescript/holdfast/v1/server_service';
import { StoreFailure } from '../../src/base/errors';
import { quarantined } from '../../src/leases/lease-errors';
import { acquireRequest, call, failureOf, Harness } from './harness';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.start();
});
afterEach(() => harness.close());

const info = () => {
  const client = harness.info();
  return call(client, client.getServerInfo, {});
};

const end = (reason: string): Promise<EndQuarantineResponse> => {
  const client = harness.info();
  return call(client, client.endQuarantine, { reason });
};

describe('GetServerInfo', () => {
  it.each([
    ['forgotten', QuarantineCause.QUARANTINE_CAUSE_FORGOTTEN],
    ['restarted', QuarantineCause.QUARANTINE_CAUSE_RESTARTED],
    ['clock', QuarantineCause.QUARANTINE_CAUSE_CLOCK],
  ] as const)('shows the remaining time and the cause of a quarantine: %s', async (cause, expected) => {
    expect(await info()).toMatchObject({ storeState: StoreState.STORE_STATE_READY, quarantine: undefined });
    harness.store.setQuarantine({ remainingMs: 12_500, cause });
    expect(await info()).toMatchObject({
      storeState: StoreState.STORE_STATE_QUARANTINED,
      quarantine: { remainingDuration: { seconds: 12n, nanos: 500_000_000 }, cause: expected },
    });
  });

  it('shows UNREACHABLE while the store is both unreachable and in quarantine', async () => {
    harness.store.setQuarantine({ remainingMs: 12_500, cause: 'clock' });
    harness.store.setReachable(false);
    expect((await info()).storeState).toBe(StoreState.STORE_STATE_UNREACHABLE);
  });
});

describe('EndQuarantine', () => {
  it('ends the quarantine, and describes the risk in the answer and in the log', async () => {
    harness.store.setQuarantine({ remainingMs: 95_000, cause: 'restarted' });
    const { endedQuarantine, risk } = await end('all workers were stopped');
    expect(endedQuarantine).toEqual({
      remainingDuration: { seconds: 95n, nanos: 0 },
      cause: QuarantineCause.QUARANTINE_CAUSE_RESTARTED,
    });
    expect(risk).toMatch(/95 s more.*two holders.*fencing token/);
    expect(harness.logged).toContainEqual({
      level: 'warn',
      fields: { reason: 'all workers were stopped', cause: 'restarted', remainingMs: 95_000, risk },
      message: 'an operator ended the quarantine',
    });
  });

  it('changes nothing if there is no quarantine', async () => {
    expect(await end('to be sure')).toEqual({ endedQuarantine: undefined, risk: '' });
    expect(harness.logged.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  it.each([
    ['no reason', ''],
    ['a reason that is too long', 'x'.repeat(513)],
    ['a reason with a line break', 'well\nknown'],
  ])('answers INVALID_FIELD to %s', async (_, reason) => {
    harness.store.onEndQuarantine = () => Promise.reject(new Error('the store was called'));
    const error = await failureOf(end(reason));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.metadata.get('holdfast-reason')).toEqual(['INVALID_FIELD']);
    expect(error.details).toContain('reason');
  });

  it.each([
    ['no', 'unavailable', 'STORE_UNAVAILABLE', /nothing was done/],
    ['unknown', 'unavailable', 'OUTCOME_UNKNOWN', /repeat the call/],
    ['unknown', 'unconfirmed', 'OUTCOME_UNKNOWN', /replicas have not confirmed .*repeat the call/],
  ] as const)(
    'tells whether the quarantine was ended when the store fails (ended: %s, %s)',
    async (done, kind, reason, text) => {
      harness.store.onEndQuarantine = () => Promise.reject(new StoreFailure(done, kind));
      const error = await failureOf(end('to be sure'));
      expect(error.code).toBe(status.UNAVAILABLE);
      expect(error.metadata.get('holdfast-reason')).toEqual([reason]);
      expect(error.details).toMatch(text);
    },
  );
});

test('the error QUARANTINED has the remaining time in its text and in its pushback', async () => {
  const lock = { service: 'lock', name: 'report' } as const;
  harness.permits.answers.acquire = () => Promise.reject(quarantined(lock, 61_234.5));
  const client = harness.locks();
  const error = await failureOf(call(client, client.acquireLock, acquireRequest()));
  expect(error.code).toBe(status.UNAVAILABLE);
  expect(error.metadata.get('holdfast-reason')).toEqual(['QUARANTINED']);
  expect(error.metadata.get('grpc-retry-pushback-ms')).toEqual(['61235']);
  expect(error.details).toMatch(/lock "report".*61 s more.*\[QUARANTINED\]$/);
});
