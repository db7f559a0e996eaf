import { systemClock } from '../../src/engine/clock';
import { StoreFailure } from '../../src/engine/errors';
import { RedisCluster } from '../../src/redis/topology/cluster';
import { hostOf } from '../../src/redis/topology/cluster-view';
import { script } from '../../src/redis/connection/operation';
import { slotOfKey } from '../../src/redis/keys';
import { answered, FakeClusterNode, refused } from '../support/fake-cluster-node';

const COMMAND_TIMEOUT_MS = 600;
const KEY = 'test:{1}:l:state:x';
const SLOT = slotOfKey(KEY);
const step = script('return {ARGV[1]}');

describe('a command for a Redis Cluster', () => {
  let here: FakeClusterNode;
  let there: FakeClusterNode;
  let cluster: RedisCluster;
  beforeEach(async () => {
    [here, there] = await Promise.all([FakeClusterNode.open('a'), FakeClusterNode.open('b')]);
    // Each has half of the slots; the one of the key is said to be here.
    const [low, high] = SLOT < 8192 ? [here, there] : [there, here];
    for (const node of [here, there]) {
      node.slots = [
        [0, 8191, low.address],
        [8192, 16_383, high.address],
      ];
    }
    cluster = new RedisCluster({
      address: {
        kind: 'cluster',
        seeds: [hostOf(here.address)],
        tls: false,
        username: undefined,
        password: undefined,
      },
      security: { tls: undefined, sentinelUser: undefined },
      prefix: 'test',
      quarantineMs: 5000,
      storeIsNew: true,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      clock: systemClock,
      onError: () => undefined,
    });
    await cluster.ready(5000);
  });
  afterEach(() => {
    cluster.close();
    here.close();
    there.close();
  });

  const moved = () => refused(`MOVED ${SLOT} ${there.address}`);
  const run = (what: string, once = false) =>
    cluster.runRaw(step, [KEY], [what], ([reply]) => String(reply), once);
  const failureOf = async (promise: Promise<unknown>): Promise<StoreFailure> => {
    const error: unknown = await promise.then(
      () => undefined,
      (caught: unknown) => caught,
    );
    if (!(error instanceof StoreFailure)) throw new Error(`expected a StoreFailure, got ${String(error)}`);
    return error;
  };

  it('that is moved goes where it belongs, and the next one goes there at once', async () => {
    here.answer = moved;
    expect(await run('one')).toBe('OK');
    expect(await run('two')).toBe('OK');
    expect(there.received).toEqual(['one', 'two']);
    expect(here.received).toEqual(['one']);
  });

  it('that is to be asked elsewhere goes there right behind ASKING, that one alone', async () => {
    here.answer = () => refused(`ASK ${SLOT} ${there.address}`);
    expect(await run('one')).toBe('OK');
    here.answer = () => answered('here');
    expect(await run('two')).toBe('here');
    expect(there.received).toEqual(['ASKING one']);
  });

  it('is tried again while its slot is on its way', async () => {
    let tries = 0;
    here.answer = () => ((tries += 1) < 5 ? refused('TRYAGAIN Multiple keys request') : answered('at last'));
    expect(await run('one')).toBe('at last');
    expect(here.received).toHaveLength(5);
  });

  it('that two nodes send to each other ends in time, is certainly not carried out, and is not sent without end', async () => {
    here.answer = moved;
    there.answer = () => refused(`MOVED ${SLOT} ${here.address}`);
    // A busy machine may keep the last answer until nobody waits for it any more.
    for (let tries = 1; ; tries += 1) {
      for (const node of [here, there]) node.received.length = 0;
      const started = performance.now();
      const failure = await failureOf(run('one'));
      expect(performance.now() - started).toBeLessThan(COMMAND_TIMEOUT_MS + 400);
      expect(failure).toMatchObject({ kind: 'unavailable' });
      if (failure.carriedOut === 'no') break;
      expect(tries).toBeLessThan(5);
    }
    expect(here.received.length + there.received.length).toBeLessThan(50);
  });

  it('that was turned away until its time was over is certainly not carried out', async () => {
    here.answer = () => refused('CLUSTERDOWN The cluster is down');
    expect(await failureOf(run('one'))).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
  });

  it('that was cut off is sent again, by then to another node, and is unknown if that turns it away too', async () => {
    here.answer = () => {
      for (const node of [here, there]) node.slots = [[0, 16_383, there.address]];
      return 'cut';
    };
    expect(await run('one')).toBe('OK');
    expect(there.received).toEqual(['one']);
    there.answer = (received) => (there.received.length < 3 ? 'cut' : refused(`CLUSTERDOWN ${received}`));
    expect(await failureOf(run('two'))).toMatchObject({ carriedOut: 'unknown' });
  });

  it('that counts is not sent again once it was cut off, but is where it was only turned away', async () => {
    here.answer = moved;
    expect(await run('one', true)).toBe('OK');
    there.answer = () => 'cut';
    expect(await failureOf(run('two', true))).toMatchObject({ carriedOut: 'unknown' });
    expect(there.received).toEqual(['one', 'two']);
  });

  it('is given one key more that is never there', async () => {
    const keys: string[] = [];
    here.answer = (received) => {
      keys.push(received);
      return answered('OK');
    };
    // The last word is the absent key where a script has no arguments.
    await cluster.run(step, [KEY], [], () => undefined);
    expect(keys).toEqual(['test:{1}:absent']);
  });
});
