import { randomUUID } from 'node:crypto';
import { StoreFailure } from '../../src/engine/errors';
import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import type { TestServer } from '../support/permits-server';
import { Requester } from '../support/permits-requester';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { is } from '../support/reply-kinds';

const COMMAND_TIMEOUT_MS = 600;

/** Whatever a server was not answered in time may still be on its way to Redis, and arrives when others have gone on. */
describe('a command that arrives when nobody waits for it any more', () => {
  let on: PermitsFixture;
  let proxy: TcpProxy;
  let slow: TestServer;
  let quick: TestServer;
  beforeEach(async () => {
    on = await PermitsFixture.open({ commandTimeoutMs: COMMAND_TIMEOUT_MS });
    proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'redis' });
    slow = await on.server('slow', `redis://${proxy.address}`);
    quick = await on.server('quick');
  });
  afterEach(async () => {
    await on.close();
    await proxy.close();
  });

  /** Sends what `command` sends, which is held up until `meanwhile` is through, and then runs. */
  async function late(command: Promise<unknown>, meanwhile: () => Promise<void>): Promise<void> {
    const failure: unknown = await command.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StoreFailure);
    expect((failure as StoreFailure).carriedOut).toBe('unknown');
    await meanwhile();
    const before = await scriptRuns();
    proxy.passEverything();
    await eventually('it to have run', async () => (await scriptRuns()) > before, { timeoutMs: 10_000 });
  }

  async function scriptRuns(): Promise<number> {
    const stats = String(await on.redis.command('INFO', 'commandstats'));
    const counts = stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g);
    return [...counts].reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  /** What was sent before the connection was given up, with the time it had or with none. */
  function hold(time: 'with its time' | 'without'): void {
    if (time === 'without')
      slow.epochArguments = [slow.node.epochs.epochArguments(0, [])?.[0] as string, Number.MAX_SAFE_INTEGER];
    proxy.blackHole('toTarget');
  }

  it.each([
    ['with its time', 'nothing'],
    ['without', 'a late take-over'],
  ] as const)('an acquire, %s, does %s to the retry that another server granted', async (time, effect) => {
    const lock = on.resource();
    const [requestId, ttlMs] = [randomUUID(), 60_000];
    // Both know the script, so that what is held up is the whole of it.
    is('granted', await new Requester(slow, on.resource()).try());
    const first = new Requester(slow, lock, { requestId, ttlMs, stream: true });
    const retry = new Requester(quick, lock, { requestId, ttlMs, stream: true });
    hold(time);
    await late(first.try(), async () => {
      is('granted', await retry.try());
    });
    is(effect === 'nothing' ? 'granted' : 'superseded', await retry.keepAlive(retry.secret));
  });

  it('an acquire is not granted after its caller gave up and nobody else came', async () => {
    const lock = on.resource();
    is('granted', await new Requester(slow, on.resource()).try());
    hold('with its time');
    await late(new Requester(slow, lock, { ttlMs: 60_000 }).try(), async () => undefined);
    expect((await on.stored(lock)).sets.ends).toEqual([]);
  });

  it('a renewal does not bring a lease to life that has been believed in by nobody since', async () => {
    const lock = on.resource();
    const alice = new Requester(slow, lock, { ttlMs: 60_000 });
    is('granted', await alice.try());
    is('granted', await alice.renew(alice.secret));
    hold('with its time');
    await late(alice.renew(alice.secret, 120_000), async () => undefined);
    const [end] = (await on.stored(lock)).sets.ends;
    expect((end?.score ?? 0) / 1000 - Number(await on.now()) / 1000).toBeLessThan(60_000);
  });

  it('a release frees what its holder has let go of', async () => {
    const lock = on.resource();
    const alice = new Requester(slow, lock, { ttlMs: 60_000 });
    is('granted', await alice.try());
    is('finished', await other());
    hold('with its time');
    await late(alice.release(alice.secret), async () => {
      is('refused', await new Requester(quick, lock).try());
    });
    is('granted', await new Requester(quick, lock).try());

    async function other() {
      const bob = new Requester(slow, on.resource(), { ttlMs: 60_000 });
      is('granted', await bob.try());
      is('released', await bob.release(bob.secret));
      return bob.release(bob.secret);
    }
  });
});
