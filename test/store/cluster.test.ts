import { systemClock } from '../../src/base/clock';
import { RedisCluster } from '../../src/redis/topology/cluster';
import { hostOf } from '../../src/redis/topology/cluster-watch';
import { script } from '../../src/redis/commands';
import { slotOfKey } from '../../src/redis/buckets';
import { answered, FakeClusterNode, refused } from '../support/fake-cluster-node';
import { Stopwatch } from '../support/stopwatch';
import { failureOf } from '../support/reply-kinds';

const COMMAND_TIMEOUT_MS = 600;
const KEY = 'test:{1}:l2:state:x';
const SLOT = slotOfKey(KEY);
const step = script('return {ARGV[1]}');

describe('RedisCluster', () => {
  let here: FakeClusterNode;
  let there: FakeClusterNode;
  let cluster: RedisCluster;
  beforeEach(async () => {
    [here, there] = await Promise.all([FakeClusterNode.open('a'), FakeClusterNode.open('b')]);
    // Each node has half of the slots. Node `here` owns the slot of the key.
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
  const run = (what: string) =>
    cluster.send({ run: step, keys: [KEY], args: [what], read: ([reply]) => String(reply), isRaw: true });

  /** On a busy machine the last reply may arrive after the deadline, and the outcome is then unknown. */
  async function expectNotCarriedOut(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      for (const node of [here, there]) node.received.length = 0;
      const stopwatch = new Stopwatch();
      const failure = await failureOf(run('one'));
      expect(stopwatch.chargedMs).toBeLessThan(COMMAND_TIMEOUT_MS + 400);
      expect(failure).toMatchObject({ kind: 'unavailable' });
      if (failure.carriedOut === 'no') return;
      expect(tries).toBeLessThan(5);
    }
  }

  it('follows MOVED, and sends the next command directly to the new owner', async () => {
    here.answer = moved;
    expect(await run('one')).toBe('OK');
    expect(await run('two')).toBe('OK');
    expect(there.received).toEqual(['one', 'two']);
    expect(here.received).toEqual(['one']);
  });

  it('follows ASK with ASKING for the redirected command only', async () => {
    here.answer = () => refused(`ASK ${SLOT} ${there.address}`);
    expect(await run('one')).toBe('OK');
    here.answer = () => answered('here');
    expect(await run('two')).toBe('here');
    expect(there.received).toEqual(['ASKING one']);
  });

  it('tries a command again while its slot is moving', async () => {
    let tries = 0;
    here.answer = () => ((tries += 1) < 5 ? refused('TRYAGAIN Multiple keys request') : answered('at last'));
    expect(await run('one')).toBe('at last');
    expect(here.received).toHaveLength(5);
  });

  it('fails a command as not carried out, at its deadline and after less than 50 sends, if two nodes redirect it to each other', async () => {
    here.answer = moved;
    there.answer = () => refused(`MOVED ${SLOT} ${here.address}`);
    await expectNotCarriedOut();
    expect(here.received.length + there.received.length).toBeLessThan(50);
  });

  it('fails a command as not carried out if it is refused until its deadline', async () => {
    here.answer = () => refused('CLUSTERDOWN The cluster is down');
    await expectNotCarriedOut();
  });

  it('sends a command of a lost connection to the new owner, and reports an unknown outcome if that node refuses it too', async () => {
    here.answer = () => {
      for (const node of [here, there]) node.slots = [[0, 16_383, there.address]];
      return 'cut';
    };
    expect(await run('one')).toBe('OK');
    expect(there.received).toEqual(['one']);
    there.answer = (received) => (there.received.length < 3 ? 'cut' : refused(`CLUSTERDOWN ${received}`));
    expect(await failureOf(run('two'))).toMatchObject({ carriedOut: 'unknown' });
  });

  it('adds a key that never exists to each script', async () => {
    const keys: string[] = [];
    here.answer = (received) => {
      keys.push(received);
      return answered('OK');
    };
    // The last word of the command is the absent key, because the script has no arguments.
    await cluster.send({ run: step, keys: [KEY], args: [], read: () => undefined });
    expect(keys).toEqual(['test:{1}:absent']);
  });
});
