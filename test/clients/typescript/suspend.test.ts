import { now } from '../../../clients/typescript/clock';
import { Lease, type LeaseKeeper } from '../../../clients/typescript/sessions/lease';
import { duration, LeaseLostError } from '../../../clients/typescript';
import { Lease as LeaseMessage } from '../../../generated/typescript/holdfast/v1/lease';

jest.mock('../../../clients/typescript/clock', () => {
  const { SuspendAwareClock } = jest.requireActual<typeof import('../../../clients/typescript/clock')>(
    '../../../clients/typescript/clock',
  );
  let suspendedMs = 0;
  const monotonic = () => performance.now();
  const clock = new SuspendAwareClock(monotonic, () => monotonic() + suspendedMs);
  const suspend = (ms: number) => (suspendedMs += ms);
  return { now: () => clock.now(), exactNow: () => clock.exactNow(), suspend };
});
const { suspend } = jest.requireMock<{ suspend(ms: number): void }>('../../../clients/typescript/clock');

const keeper: LeaseKeeper = {
  over: () => undefined,
  began: () => undefined,
  release: () => Promise.resolve({ released: true, lossCause: undefined }),
  update: () => Promise.resolve(),
  whyNotRenewed: () => undefined,
  noAnswerToRelease: () => new LeaseLostError('x', 'DEADLINE'),
};

/** A lease of 30 s, after which the machine is suspended for a minute. */
function suspendedLease(): Lease {
  const message = LeaseMessage.create({ name: 'report', ttl: duration(30_000), fencingToken: 7n });
  const lease = new Lease(message, now() + 30_000, {}, keeper);
  expect(lease.isValid).toBe(true);
  suspend(60_000);
  return lease;
}

describe('a lease whose deadline passes while the machine is suspended', () => {
  test('is refused by the first check', () => {
    expect(() => suspendedLease().check()).toThrow('its deadline passed');
  });

  test('gives no fencing token', () => {
    expect(() => suspendedLease().fencingToken).toThrow('its deadline passed');
  });

  test('is lost, not valid, and has no time left', () => {
    expect(suspendedLease().loss).toMatchObject({ lossCause: 'DEADLINE' });
    expect(suspendedLease().isValid).toBe(false);
    expect(suspendedLease().remaining()).toBe(0);
  });

  test('is lost although the caller releases the lease', async () => {
    const lease = suspendedLease();
    lease.end('RELEASED', true);
    expect(lease.loss).toMatchObject({ lossCause: 'DEADLINE' });
    await lease.release();
  });
});
