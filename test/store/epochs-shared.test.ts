import { StoreFailure } from '../../src/engine/errors';
import type { RedisConnection } from '../../src/redis/connection/connection';
import { Epochs } from '../../src/redis/epochs/epochs';
import type { NodeReport } from '../../src/redis/connection/node-report';
import { ManualClock } from '../support/manual-clock';

const GROUPS = Array.from({ length: 20 }, (_, bucket) => [bucket]);
const findings: NodeReport = {
  runId: 'a run',
  durable: false,
  overlapMs: 0,
  uptimeSeconds: 1,
  warnings: [],
  unsuitable: false,
};

/** What one node of several has of epochs, some of which are elsewhere by now. */
function epochsOf(isElsewhere: (keys: readonly string[]) => boolean) {
  const clock = new ManualClock(1000);
  const calls = { asked: 0, settled: 0 };
  const connection = {
    run: (_: unknown, keys: readonly string[], __: unknown, read: (reply: unknown[]) => unknown) => {
      calls.asked += 1;
      if (!isElsewhere(keys)) return Promise.resolve(read(['OK', 0, 0, 0, '', 5000, 'w', 0]));
      return Promise.reject(new StoreFailure('no', 'unavailable', { cause: new Error('MOVED 1 there:1') }));
    },
    changed: () => undefined,
  } as unknown as RedisConnection;
  const share = {
    buckets: () => GROUPS,
    givers: () => Promise.resolve([]),
    settled: () => (calls.settled += 1),
  };
  const onError = () => undefined;
  const options = { prefix: 'test', quarantineMs: 5000, storeIsNew: false, share, clock, onError };
  const epochs = new Epochs(options, () => connection);
  const found = (runId: string) =>
    epochs.found({ ...findings, runId }, { time: 0, sentAt: clock.now(), receivedAt: clock.now() });
  return { epochs, clock, calls, found };
}

describe('the epochs that one node of several has', () => {
  it('are adopted where they are still there, though those that are asked first are elsewhere', async () => {
    const { epochs, calls, found } = epochsOf(([key]) => Number(/\d+/.exec(key ?? '')) < 16);
    found('a run');
    await epochs.adopt();
    expect(calls).toEqual({ asked: GROUPS.length, settled: 1 });
  });

  it('are not adopted where all are elsewhere: it takes no commands, as far as anybody knows', async () => {
    const { epochs, calls, found } = epochsOf(() => true);
    found('a run');
    await expect(epochs.adopt()).rejects.toMatchObject({ kind: 'unavailable', carriedOut: 'no' });
    expect(calls.settled).toBe(0);
    expect(epochs.knownSince).toBe(Infinity);
  });

  it('are known since the first time that all were adopted, and anew when the run is another one', async () => {
    const { epochs, clock, found } = epochsOf(() => false);
    found('a run');
    expect(epochs.knownSince).toBe(Infinity);
    await epochs.adopt();
    expect(epochs.knownSince).toBe(1000);
    await clock.advance(5000);
    found('a run');
    await epochs.adopt();
    expect(epochs.knownSince).toBe(1000);
    found('a run/0123456789abcdef');
    expect(epochs.knownSince).toBe(Infinity);
    await epochs.adopt();
    expect(epochs.knownSince).toBe(6000);
  });
});
