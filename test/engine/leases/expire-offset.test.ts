import fc from 'fast-check';
import { confirmedEnd, expireOffsetMs } from '../../../src/engine/leases/expire-offset';

const RHO = 0.0005;
const ms = (max: number) => fc.double({ min: 0, max, noNaN: true });

describe('expireOffsetMs and confirmedEnd', () => {
  it('add the time until the send and the remaining time, less the possible drift of the clocks', () => {
    expect(expireOffsetMs(1000, 1000, 30_000)).toBeCloseTo(29_985, 6);
    expect(expireOffsetMs(1000, 3000, 10_000)).toBeCloseTo(11_994, 6);
    // The offset counts from the call. After a wait of an hour the offset is longer than the ttl.
    expect(expireOffsetMs(0, 3_600_000, 30_000)).toBeCloseTo(3_628_185, 6);
  });

  it('never give an end after the end of the lease, for all clocks within the bound of the drift', () => {
    const rate = fc.double({ min: -RHO / 2, max: RHO / 2, noNaN: true });
    fc.assert(
      fc.property(
        ms(3_600_000),
        ms(120_000),
        ms(5000),
        ms(5000),
        rate,
        rate,
        rate,
        (waited, remaining, toServer, toStore, clientRate, serverRate, storeRate) => {
          // In true time the client sends at 0, the server receives at `received` and sends at `sent`, and the store reads
          // its clock at `read`.
          const received = toServer;
          const sent = received + waited;
          const read = sent + toStore;
          const trueEnd = read + remaining / (1 + storeRate);
          const onServer = (time: number) => 77 + time * (1 + serverRate);
          const offset = expireOffsetMs(onServer(received), onServer(sent), remaining);
          // The client counts the offset on its own clock, from the moment before the call was sent.
          const believedEnd = offset / (1 + clientRate);
          expect(believedEnd).toBeLessThanOrEqual(trueEnd + 1e-6);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('give a later end to a command that was sent later with the same remaining time', () => {
    fc.assert(
      fc.property(ms(1e6), ms(1e5), ms(1e5), (received, gap, remaining) => {
        const first = expireOffsetMs(received, received, remaining);
        const second = expireOffsetMs(received, received + gap, remaining);
        expect(second).toBeGreaterThanOrEqual(first);
      }),
    );
  });

  it("give the end on the server's clock, and the end for the client is never later", () => {
    expect(confirmedEnd(5000, 30_000)).toBeCloseTo(34_985, 6);
    fc.assert(
      fc.property(ms(1e6), ms(1e6), ms(1e5), (received, waited, remaining) => {
        const end = confirmedEnd(received + waited, remaining);
        expect(received + expireOffsetMs(received, received + waited, remaining)).toBeLessThanOrEqual(
          end + 1e-6,
        );
      }),
    );
  });
});
