import type { LeaseStore, LeaseWanted, WithdrawCommand } from '../../../src/leases/lease-store';
import { TimerQueue } from '../../../src/flow/timer-queue';
import { Withdrawals } from '../../../src/leases/withdrawals';
import { EMPTY_SNAPSHOT } from '../../support/leases/fake-store';
import { ManualClock, runtimeOn } from '../../support/manual-clock';

const HELLO = { service: 'lock', name: 'hello' } as const;
const PATIENCE_MS = 10_000;

let sent: WithdrawCommand[];
let withdrawals: Withdrawals;
let clock: ManualClock;

beforeEach(() => {
  sent = [];
  clock = new ManualClock(1000);
  const withdraw = (_: unknown, command: WithdrawCommand) => {
    sent.push(command);
    return Promise.resolve({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT, ticket: '1' } as const);
  };
  const store = { withdraw } as unknown as LeaseStore;
  withdrawals = new Withdrawals(store, runtimeOn(clock), new TimerQueue(clock));
});
afterEach(() => withdrawals.close());

function wanted(caller: object | undefined, sendBefore?: number): LeaseWanted {
  return {
    requestId: 'r',
    attach: 'a',
    clientRequestId: 'c',
    ttlMs: 1000,
    caller,
    sendBefore,
  } as LeaseWanted;
}

describe('a withdrawal', () => {
  test('waits in one queue with the other withdrawals of its connection, and apart from the renewals of its connection', async () => {
    const [alice, bob] = [{}, {}];
    await withdrawals.leaveQueue(HELLO, wanted(alice));
    await withdrawals.returnGrant(HELLO, wanted(alice), 5n);
    await withdrawals.leaveQueue(HELLO, wanted(bob));
    const [first, second, ofBob] = sent.map(({ caller }) => caller);
    expect(first).toBe(second);
    expect(new Set([first, ofBob, alice, bob, undefined]).size).toBe(5);
  });

  test('waits up to ten seconds for its turn, and never past the deadline of its call', async () => {
    await withdrawals.leaveQueue(HELLO, wanted({}));
    await withdrawals.leaveQueue(HELLO, wanted({}, clock.now() + 3000));
    expect(sent.map(({ patientUntil }) => patientUntil)).toEqual([1000 + PATIENCE_MS, 1000 + 3000]);
  });

  test('in the background waits in one queue with all give-backs of this server', async () => {
    withdrawals.giveBackLater(HELLO, wanted({}));
    withdrawals.giveBackLater(HELLO, wanted({}));
    await clock.advance(0);
    expect(sent.map(({ caller }) => caller)).toEqual([withdrawals, withdrawals]);
  });
});
