import { LeaseFixture } from '../../support/leases/lease-fixture';
import { grantsWaitingReaders } from '../../support/waiting-readers';

let fixture: LeaseFixture;
beforeAll(async () => {
  // Thousands of commands are in flight at the same time.
  fixture = await LeaseFixture.open({ commandTimeoutMs: 20_000, frozenClock: true });
});
afterAll(() => fixture?.close());

test('the scripts grant a lock to 10,000 waiting readers in batches of 64', () =>
  grantsWaitingReaders(fixture, 10_000));
