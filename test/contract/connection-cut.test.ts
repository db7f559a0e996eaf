import { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { limitAge } from '../../src/rpc/entry/connections';

/** A connection with calls that never end. */

const HOUR_MS = 3_600_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

function aged(maxAgeMs: number) {
  const done: string[] = [];
  const session = Object.assign(new EventEmitter(), { close: () => done.push('announced') });
  limitAge(session as unknown as ServerHttp2Session, maxAgeMs, {
    endStreams: () => done.push('streams ended'),
    cut: () => done.push('cut'),
  });
  return { done, session };
}

test('a connection is cut after its maximum age has passed again', () => {
  const { done } = aged(HOUR_MS);
  jest.advanceTimersByTime(1.2 * HOUR_MS);
  // The second time is for streams that waited at the gate.
  expect(done).toEqual(['announced', 'streams ended', 'streams ended']);
  jest.advanceTimersByTime(HOUR_MS);
  expect(done.at(-1)).toBe('cut');
});

test('calls on a connection with a short maximum age have a minute for their end', () => {
  const { done } = aged(1000);
  jest.advanceTimersByTime(60_000);
  expect(done).not.toContain('cut');
  jest.advanceTimersByTime(2000);
  expect(done).toContain('cut');
});

test('a connection that was closed is not cut', () => {
  const { done, session } = aged(HOUR_MS);
  session.emit('close');
  jest.advanceTimersByTime(3 * HOUR_MS);
  expect(done).toEqual([]);
});
