import { handOversOf, shareInOrder, type AwaitedGrant } from '../../bench/locks/contest';
import type { Write } from '../../bench/locks/driver';
import { judge } from '../../bench/locks/pauses';

const grant = (askedAt: number, grantedAt: number, releasedAt: number): AwaitedGrant => ({
  askedAt,
  grantedAt,
  releasedAt,
});

test('handOversOf gives the time from each release to the next grant, without the last waiters', () => {
  const grants = [grant(10, 33, 40), grant(0, 5, 10), grant(5, 11, 30), grant(33, 41, 42)];
  expect(handOversOf(grants, 1)).toEqual([1, 3]);
});

describe('shareInOrder', () => {
  /** Grants of one process, each as the begin of its wait, its grant and its release. */
  const shareOf = (
    ...grants: readonly (readonly [askedAt: number, grantedAt: number, releasedAt: number])[]
  ) => shareInOrder(grants.map((one) => ({ ...grant(...one), process: 0 })));

  it('is 1 if each grant goes to the waiter who has waited longest', () => {
    expect(shareOf([0, 20, 22], [10, 30, 32], [20, 40, 42])).toBe(1);
  });

  it('counts a grant that passes a wait that was known to be queued', () => {
    // The wait from 6 is known to be queued at 23, after the release at 20.
    expect(shareOf([0, 5, 20], [6, 50, 52], [7, 23, 25], [24, 30, 32])).toBe(0.75);
  });

  it('counts no passing of a wait that was not yet known to be queued', () => {
    expect(shareOf([0, 5, 20], [6, 50, 52], [7, 23, 25], [22.9, 30, 32])).toBe(1);
  });

  it('takes a wait for queued only after a release of its own process', () => {
    const others = [grant(0, 5, 20), grant(7, 23, 25), grant(24, 30, 32)];
    const passed = { ...grant(6, 50, 52), process: 1 };
    expect(shareInOrder([passed, ...others.map((one) => ({ ...one, process: 0 }))])).toBe(1);
  });
});

const writes = (...all: Write[]) => new Map(all.map((write) => [write.lock, write]));

test('judge counts the writes of a holder who does not check', () => {
  const next = writes({ lock: 0, isHeld: true }, { lock: 1, isHeld: true });
  const late = writes({ lock: 0, isHeld: true }, { lock: 1, isHeld: false });
  expect(judge(late, next)).toEqual({ unchecked: 2, holderChecks: 1, tokenChecked: 2 });
});

test('judge counts no write with an older token where tokens are checked', () => {
  const next = writes({ lock: 0, isHeld: true, token: '10' }, { lock: 1, isHeld: true, token: '11' });
  const late = writes({ lock: 0, isHeld: false, token: '9' }, { lock: 1, isHeld: false, token: '11' });
  expect(judge(late, next)).toEqual({ unchecked: 2, holderChecks: 0, tokenChecked: 1 });
});
