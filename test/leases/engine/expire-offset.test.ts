import fc from 'fast-check';
import { confirmedEnd, expireOffsetMs, hasOffsetPassed } from '../../../src/leases/lease';
import { Heartbeats, Lives } from '../../../src/leases/life';
import { FakeCall } from '../../support/fake-call';
import { ManualClock, runtimeOn } from '../../support/manual-clock';

const RHO = 0.0005;
const DAY_MS = 86_400_000;
const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const ms = (max: number) => between(0, max);

describe('expireOffsetMs and confirmedEnd', () => {
  it('add the time until the send and the remaining time, less the possible drift of the clocks', () => {
    expect(expireOffsetMs(1000, { sentAt: 1000, remainingMs: 30_000 })).toBeCloseTo(29_985, 6);
    expect(expireOffsetMs(1000, { sentAt: 3000, remainingMs: 10_000 })).toBeCloseTo(11_994, 6);
    // The offset counts from the call. After a wait of an hour the offset is longer than the ttl.
    expect(expireOffsetMs(0, { sentAt: 3_600_000, remainingMs: 30_000 })).toBeCloseTo(3_628_185, 6);
  });

  it('subtract the time since the send and the possible drift if the command is older than the message', () => {
    expect(expireOffsetMs(3000, { sentAt: 1000, remainingMs: 10_000 })).toBeCloseTo(9995 - 2001, 6);
    // The lease has ended before the message.
    expect(expireOffsetMs(20_000, { sentAt: 0, remainingMs: 10_000 })).toBeCloseTo(9995 - 20_010, 6);
  });

  it('never give an end after the end of the lease, for all clocks within the bound of the drift', () => {
    const rate = between(-RHO / 2, RHO / 2);
    // The time from the receipt of the message to the send of the command, and the remaining time at the command.
    const afterMessage = fc.tuple(ms(3_600_000), ms(120_000));
    const beforeMessage = fc.tuple(ms(DAY_MS), ms(120_000)).map(([age, left]) => [-age, age + left] as const);
    fc.assert(
      fc.property(
        fc.oneof(afterMessage, beforeMessage),
        ms(5000),
        ms(5000),
        rate,
        rate,
        rate,
        ([waited, remaining], toServer, toStore, clientRate, serverRate, storeRate) => {
          // In true time the client sends at 0, the server receives at `received` and sends at `sent`, and the store reads
          // its clock at `read`.
          const received = toServer;
          const sent = received + waited;
          const read = sent + toStore;
          const trueEnd = read + remaining / (1 + storeRate);
          const onServer = (time: number) => 2 * DAY_MS + time * (1 + serverRate);
          const offset = expireOffsetMs(onServer(received), {
            sentAt: onServer(sent),
            remainingMs: remaining,
          });
          // The client does not believe in a lease with such an offset at any time.
          if (offset <= 0) return;
          // The client counts the offset on its own clock, from the moment before the message was sent.
          const believedEnd = offset / (1 + clientRate);
          expect(believedEnd).toBeLessThanOrEqual(trueEnd + 1e-6);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('give a later end to a command that was sent later with the same remaining time', () => {
    fc.assert(
      fc.property(ms(1e6), between(-1e5, 1e5), ms(1e5), ms(1e5), (received, waited, gap, remaining) => {
        const sentAt = received + waited;
        const first = expireOffsetMs(received, { sentAt, remainingMs: remaining });
        const second = expireOffsetMs(received, { sentAt: sentAt + gap, remainingMs: remaining });
        expect(second).toBeGreaterThanOrEqual(first - 1e-6);
      }),
    );
  });

  it("give the end on the server's clock, and the end for the client is never later", () => {
    expect(confirmedEnd({ sentAt: 5000, remainingMs: 30_000 })).toBeCloseTo(34_985, 6);
    fc.assert(
      fc.property(ms(1e6), between(-1e6, 1e6), ms(1e5), (received, waited, remainingMs) => {
        const end = { sentAt: received + waited, remainingMs };
        expect(received + expireOffsetMs(received, end)).toBeLessThanOrEqual(confirmedEnd(end) + 1e-6);
      }),
    );
  });
});

test('a grant to a session after a long wait is judged from the latest heartbeat, so drift does not add up', () => {
  const hour = 3_600_000;
  const end = { sentAt: hour, remainingMs: 1000 };
  const clock = new ManualClock(0);
  const lives = new Lives(runtimeOn(clock), 's1', Infinity);
  const call = new FakeCall(clock);
  const heartbeats = new Heartbeats(1, hour - 5000, 15_000);
  const command = Object.assign(call, { speaker: 'client/1.1', heartbeats, onGivenUp: () => undefined });
  expect(hasOffsetPassed(lives.callLife(call).offsetsFrom, end, hour + 10)).toBe(true);
  const { offsetsFrom } = lives.sessionLife(command);
  expect(hasOffsetPassed(offsetsFrom, end, hour + 10)).toBe(false);
  expect(hasOffsetPassed(offsetsFrom, end, hour + 1000)).toBe(true);
});
