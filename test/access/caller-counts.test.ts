import { EventEmitter } from 'node:events';
import { Callers } from '../../src/base/callers';
import { AuditLog } from '../../src/access/audit';
import { CallerCounts } from '../../src/rpc/caller-counts';
import { ManualClock } from '../support/manual-clock';
import { NO_LOG } from '../support/fake-call';

function started(maxCount?: number) {
  const clock = new ManualClock();
  const callers = new Callers(clock, maxCount);
  const counts = new CallerCounts(callers, new AuditLog(NO_LOG, clock));
  return { callers, counts };
}

/** An HTTP/2 session as the counts see it. */
class FakeSession extends EventEmitter {
  destroyed = false;

  end(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

test('each connection counts once for each of its callers, until it ends', () => {
  const { counts } = started();
  const [one, two] = [new FakeSession(), new FakeSession()];
  for (let round = 0; round < 3; round += 1) {
    counts.called('token:a', one);
    counts.called('token:b', one);
    counts.called('token:a', two);
  }
  const [a, b] = [counts.of('token:a', one), counts.of('token:b', one)];
  expect([a.connectionCount, b.connectionCount]).toEqual([2, 1]);
  expect([a.callCount, b.callCount]).toEqual([6, 3]);
  one.end();
  expect([a.connectionCount, b.connectionCount]).toEqual([1, 0]);
  // A call of the closed connection may still be in progress.
  counts.called('token:a', one);
  two.end();
  expect([a.connectionCount, a.callCount]).toEqual([0, 7]);
});

test('a connection with thousands of callers remembers few of them, and leaves none behind', () => {
  const { callers, counts } = started();
  const session = new FakeSession();
  for (let count = 0; count < 2000; count += 1) counts.called(`jwt:i#${count}`, session);
  const all = () => callers.list({ identity: '', address: '', order: 'calls', count: 5000 }).callers;
  const open = () => all().reduce((sum, { connectionCount }) => sum + connectionCount, 0);
  expect([all().length, open()]).toEqual([2000, 1000]);
  session.end();
  expect(open()).toBe(0);
});

test('a caller that has lost its place gets a new one with its next call, and its connection moves along', () => {
  const { callers, counts } = started(4);
  const session = new FakeSession();
  const before = counts.called('token:a', session);
  const others = new FakeSession();
  for (let count = 0; count < 50; count += 1) counts.called(`token:${count}`, others);
  expect(before.hasPlace).toBe(false);
  const after = counts.called('token:a', session);
  expect(after).toMatchObject({ hasPlace: true, callCount: 1, connectionCount: 1 });
  session.end();
  others.end();
  expect([before.connectionCount, after.connectionCount, callers.other.connectionCount]).toEqual([0, 0, 0]);
});
