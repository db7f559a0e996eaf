import { randomUUID } from 'node:crypto';
import { StoreFailure } from '../../src/base/errors';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { TestServer } from '../support/leases/lease-server';
import { Requester } from '../support/leases/lease-requester';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { is } from '../support/reply-kinds';
import { serverUrl } from '../support/processes/redis-process';

const COMMAND_TIMEOUT_MS = 600;

/** An unanswered command may still be on its way to Redis, and may run after commands of other servers. */
describe('commands that arrive late at Redis', () => {
  let on: LeaseFixture;
  let proxy: TcpProxy;
  let slow: TestServer;
  let quick: TestServer;
  beforeEach(async () => {
    on = await LeaseFixture.open({ commandTimeoutMs: COMMAND_TIMEOUT_MS });
    proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'redis' });
    slow = await on.server('slow', serverUrl(proxy.address));
    quick = await on.server('quick');
  });
  afterEach(async () => {
    await on.close();
    await proxy.close();
  });

  /** Waits until the delayed command has failed, runs `meanwhile`, and then lets the command arrive. */
  async function arriveLate(command: Promise<unknown>, meanwhile: () => Promise<void>): Promise<void> {
    const failure: unknown = await command.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StoreFailure);
    expect((failure as StoreFailure).carriedOut).toBe('unknown');
    await meanwhile();
    const before = await scriptRuns();
    proxy.passEverything();
    await eventually('the late command to run', async () => (await scriptRuns()) > before, {
      timeoutMs: 10_000,
    });
  }

  async function scriptRuns(): Promise<number> {
    const stats = String(await on.redis.command('INFO', 'commandstats'));
    const counts = stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g);
    return [...counts].reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  /** Delays all commands of the slow server. They carry their deadline or no deadline. */
  function holdCommands(deadline: 'with its deadline' | 'without a deadline'): void {
    if (deadline === 'without a deadline')
      slow.epochArguments = [slow.node.epochs.epochArguments(0, [])?.[0] as string, Number.MAX_SAFE_INTEGER];
    proxy.blackHole('toTarget');
  }

  it.each([
    ['with its deadline', 'leaves the lease alone'],
    ['without a deadline', 'takes over the lease'],
  ] as const)('an acquire %s %s that another server granted to a retry', async (deadline, effect) => {
    const lock = on.resource();
    const [requestId, ttlMs] = [randomUUID(), 60_000];
    // Redis knows the script already, so the delayed command is complete.
    is('granted', await new Requester(slow, on.resource()).try());
    const first = new Requester(slow, lock, { requestId, ttlMs, stream: true });
    const retry = new Requester(quick, lock, { requestId, ttlMs, stream: true });
    holdCommands(deadline);
    await arriveLate(first.try(), async () => {
      is('granted', await retry.try());
    });
    is(effect === 'leaves the lease alone' ? 'granted' : 'superseded', await retry.keepAlive(retry.secret));
  });

  it('an acquire after its deadline grants nothing', async () => {
    const lock = on.resource();
    is('granted', await new Requester(slow, on.resource()).try());
    holdCommands('with its deadline');
    await arriveLate(new Requester(slow, lock, { ttlMs: 60_000 }).try(), async () => undefined);
    expect((await on.stored(lock)).sets.ends).toEqual([]);
  });

  it('a renewal after its deadline does not renew the lease', async () => {
    const lock = on.resource();
    const alice = new Requester(slow, lock, { ttlMs: 60_000 });
    is('granted', await alice.try());
    is('granted', await alice.renew(alice.secret));
    holdCommands('with its deadline');
    await arriveLate(alice.renew(alice.secret, 120_000), async () => undefined);
    const [end] = (await on.stored(lock)).sets.ends;
    expect((end?.score ?? 0) / 1000 - Number(await on.now()) / 1000).toBeLessThan(60_000);
  });

  it('a release after its deadline releases the lease', async () => {
    const lock = on.resource();
    const alice = new Requester(slow, lock, { ttlMs: 60_000 });
    is('granted', await alice.try());
    is('finished', await other());
    holdCommands('with its deadline');
    await arriveLate(alice.release(alice.secret), async () => {
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
