import { eventually } from '../support/eventually';
import { endingOf, refusal } from '../support/clients/calls';
import type { RedisProcess } from '../support/processes/redis-process';
import { RedisSentinels } from '../support/processes/redis-sentinels';
import {
  endQuarantine,
  everythingWorks,
  functionsWork,
  handOversAreHinted,
  locksWork,
  onStage,
  overStore,
  scriptCount,
  type Stage,
  untilAvailable,
  untilReplicated,
} from './stage';

/** The time limit of a failover with Sentinel, including its detection. */
const FAILOVER_MS = 15_000;

const overSentinel = (run: (sentinels: RedisSentinels, stage: Stage) => Promise<void>, replicas = 2) =>
  overStore(RedisSentinels.start({ replicas, args: ['--min-replicas-to-write', '1'] }), {}, run);

/** Replaces the master, and expects that a replicated lease continues at the next master. */
async function survives(
  sentinels: RedisSentinels,
  stage: Stage,
  replace: (master: RedisProcess) => Promise<void>,
): Promise<RedisProcess> {
  const client = stage.one.client();
  const before = await sentinels.master();
  const lease = await client.acquire({ name: 'kept', ttlMs: 60_000, waitMs: 0 });
  const stream = client.hold({ name: 'streamed', ttlMs: 60_000 });
  await stream.until('granted');
  await untilReplicated(before, sentinels.redis.length - 1);
  const startedAt = performance.now();
  await replace(before);
  const renewed = await untilAvailable('the next master', () => client.renew(lease.leaseId));
  expect(performance.now() - startedAt).toBeLessThan(FAILOVER_MS);
  expect(await sentinels.master()).not.toBe(before);
  expect(renewed.fencingToken).toBe(lease.fencingToken);
  // The replica may lack the last writes, so the servers grant nothing until the quarantine ends.
  const rival = stage.other.client();
  const quarantined = untilAvailableOrQuarantined(() => rival.acquire({ name: 'new', waitMs: 0 }));
  expect((await refusal(quarantined)).reason).toBe('QUARANTINED');
  await endQuarantine(stage);
  const contended = untilAvailable('the other server', () => rival.acquire({ name: 'kept', waitMs: 0 }));
  expect((await refusal(contended)).reason).toBe('CONTENDED');
  await untilAvailable('locks', () => locksWork(stage, `after ${performance.now()}`));
  await untilAvailable('functions', () => functionsWork(stage, 'by functions'));
  await untilAvailable('hints', () => handOversAreHinted(stage, `hinted ${performance.now()}`));
  expect(stream.kinds).not.toContain('lost');
  stream.cancel();
  return before;
}

/** Expects that a replaced master becomes a replica and gets no more scripts. */
async function isLeftAlone(old: RedisProcess, stage: Stage): Promise<void> {
  await eventually(
    'the old master to be a replica',
    async () => /^slave/.test(String(await old.command('ROLE'))),
    { timeoutMs: 60_000 },
  );
  const before = await scriptCount(old);
  await Promise.all([locksWork(stage, 'at last'), handOversAreHinted(stage, 'at last, hinted')]);
  expect(await scriptCount(old)).toBe(before);
}

/** Repeats a call while the call fails with UNAVAILABLE for another reason than QUARANTINED. */
function untilAvailableOrQuarantined<T>(call: () => Promise<T>): Promise<T> {
  let ending: unknown;
  const once = () =>
    call().catch((error: unknown) => {
      ending = error;
      if (endingOf(error).reason === 'QUARANTINED') return undefined;
      throw error;
    });
  return untilAvailable('a quarantine', once).then((value) => {
    if (value === undefined) throw ending;
    return value;
  });
}

test('a server over Sentinel serves locks, semaphores, hand-overs and autocomplete without a warning', () =>
  overSentinel(async (_, stage) => everythingWorks(stage)));

test('leases continue after an ordered failover, and the old master gets no more scripts', () =>
  overSentinel(async (sentinels, stage) => {
    await isLeftAlone(await survives(sentinels, stage, () => sentinels.failover()), stage);
    // With a single replica, the old master refuses writes as soon as the replica is the master.
  }, 1));

test('leases continue after the master was killed', () =>
  overSentinel(async (sentinels, stage) => {
    await survives(sentinels, stage, (master) => master.kill());
  }));

test('leases continue after the master was paused, and the old master gets no more scripts after SIGCONT', () =>
  overSentinel(async (sentinels, stage) => {
    const old = await survives(sentinels, stage, (master) => master.stop());
    await old.cont();
    await isLeftAlone(old, stage);
  }));

test('a server starts and works while one of three sentinels is killed and another sentinel is paused', () =>
  overSentinel(async (sentinels) => {
    const [killed, paused] = sentinels.watchers as [RedisProcess, RedisProcess, RedisProcess];
    await killed.kill();
    await paused.stop();
    try {
      await onStage(sentinels, 2, {}, async (stage) => {
        await Promise.all([locksWork(stage, 'lock'), handOversAreHinted(stage, 'hand-over')]);
        expect(stage.unexpectedWarnings()).toEqual([]);
      });
    } finally {
      await paused.cont();
    }
  }));
