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

test('shareInOrder is 1 if each grant goes to the waiter who has waited longest', () => {
  expect(shareInOrder([grant(0, 20, 22), grant(10, 30, 32), grant(20, 40, 42)])).toBe(1);
});

test('shareInOrder counts a grant that overtakes a longer wait', () => {
  expect(shareInOrder([grant(0, 40, 42), grant(6, 20, 22), grant(20, 30, 32), grant(41, 50, 52)])).toBe(0.5);
});

test('shareInOrder counts no overtaking among waits that begin within 5 ms', () => {
  expect(shareInOrder([grant(0, 20, 22), grant(4.9, 10, 12)])).toBe(1);
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
