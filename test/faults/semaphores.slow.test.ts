import { setTimeout as sleep } from 'node:timers/promises';
import { leaseKeys } from '../../src/leases/redis/lease-keys';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { ClientProcess } from './client-process';
import { Fleet, type Member } from './fleet';
import type { Held } from './held';
import type { LoadTask } from './load';
import { PREFIX } from './observer';
import type { RecordedClient } from './recorded-client';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';
import { runsOf, type ScriptKind } from './script-commands';

describe('semaphore deleted', () => {
  /** The calls per server. All calls are more than a single script ends, so a deletion takes several scripts. */
  const HOLDERS = 75;
  const WAITERS = 50;
  const TTL_MS = 4000;

  /** Server 0 stays up. The other servers reach Redis through proxies. A test kills server 2. */
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ members: [{}, { redisProxy: true }, { redisProxy: true }] });
  });

  afterAll(() => fleet?.close());

  /** Matches the command after the first script of a deletion. The deletion has begun and is not complete. */
  function secondStep(name: string): (command: RedisCommand) => boolean {
    const [state] = leaseKeys(PREFIX, { service: 'semaphore', name });
    const isFirst = runsOf('delete', state);
    let begun = false;
    return (command) => {
      if (begun) return command.args.includes(state);
      begun = isFirst(command);
      return false;
    };
  }

  /** The calls at one server: streams with leases, a unary lease, and waiting streams. */
  interface Crowd {
    readonly client: RecordedClient;
    readonly held: readonly RecordedStream[];
    readonly unary: Held;
    readonly waiting: RecordedStream[];
  }

  async function occupy(scenario: Scenario, name: string, member: Member, label: string): Promise<Crowd> {
    const client = scenario.client(label, member, 'semaphore');
    const held = Array.from({ length: HOLDERS }, () => client.hold({ name, ttlMs: TTL_MS }));
    await Promise.all(held.map((stream) => stream.granted()));
    return { client, held, unary: await client.acquire({ name, ttlMs: TTL_MS }), waiting: [] };
  }

  /** Creates a full semaphore with holders and waiters at two servers. */
  async function occupied(
    scenario: Scenario,
    other: Member,
  ): Promise<{ name: string; crowds: [Crowd, Crowd] }> {
    const name = await scenario.semaphore('permits', 2 * (HOLDERS + 1));
    const crowds: [Crowd, Crowd] = [
      await occupy(scenario, name, fleet.member(0), 'crowd at the one'),
      await occupy(scenario, name, other, 'crowd at the other'),
    ];
    for (const { client, waiting } of crowds) {
      for (let count = 0; count < WAITERS; count += 1) waiting.push(client.hold({ name, ttlMs: TTL_MS }));
    }
    await scenario.observer.waiterCount(name, 2 * WAITERS);
    return { name, crowds };
  }

  async function expectAllEnded({ client, held, unary, waiting }: Crowd): Promise<void> {
    for (const stream of waiting) {
      expect(await stream.ended).toMatchObject({ code: 'NOT_FOUND', reason: 'NO_SUCH_SEMAPHORE' });
    }
    for (const stream of held) {
      expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
      expect(stream.lossCause).toBe('REVOKED');
    }
    await expectRevoked(client.renew(unary));
  }

  async function expectRevoked(call: Promise<unknown>): Promise<void> {
    const ending = { code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD', metadata: { cause: 'REVOKED' } };
    await expect(call).rejects.toMatchObject({ ending });
  }

  /** Expects that the semaphore is deleted, and that a new semaphore of the same name starts empty. */
  async function expectGone(scenario: Scenario, name: string): Promise<void> {
    const operator = scenario.operator('afterwards', fleet.member(0));
    await expect(scenario.observer.read(name)).rejects.toThrow('NO_SUCH_SEMAPHORE');
    expect(await operator.delete(name, false)).toEqual([]);
    await operator.setLimit(name, 2);
    const client = scenario.client('newcomer', fleet.member(0), 'semaphore');
    const held = await client.acquire({ name, ttlMs: TTL_MS, permits: 2 });
    expect(await scenario.observer.read(name)).toMatchObject({
      usedCount: 2,
      holderCount: 1,
      waiterCount: 0,
    });
    await client.release(held);
  }

  test.concurrent('a deletion completes and ends all calls when the reply of its first script is lost', () =>
    runScenario({ fleet, title: 'lost deletion' }, async (scenario) => {
      const other = fleet.member(1);
      const { name, crowds } = await occupied(scenario, other);
      const operator = scenario.operator('operator', other);
      await expect(operator.delete(name, false)).rejects.toMatchObject({
        ending: { code: 'FAILED_PRECONDITION', reason: 'SEMAPHORE_IN_USE' },
      });
      const [state] = leaseKeys(PREFIX, { service: 'semaphore', name });
      const lost = other.redisProxy.dropNextReply(runsOf('delete', state));
      const end = scenario.fault('reply_dropped', 'the reply of the first script of the deletion', {
        names: [name],
      });
      expect(await operator.delete(name, true)).toEqual([]);
      await lost.then(end);
      for (const crowd of crowds) await expectAllEnded(crowd);
      await expectGone(scenario, name);
    }),
  );

  test.concurrent(
    'a deletion completes at another server when its server is killed between two scripts',
    () =>
      runScenario({ fleet, title: 'killed deletion' }, async (scenario) => {
        const other = fleet.member(2);
        const { name, crowds } = await occupied(scenario, other);
        const operator = scenario.operator('operator', other);
        const deleted = operator.delete(name, true);
        await other.redisProxy.dropNextRequest(secondStep(name));
        scenario.instant('server_killed', 'between two scripts of a deletion');
        await other.server.kill();
        await deleted; // The retry completes the deletion, unless the killed server had already answered.

        const [survived, orphaned] = crowds;
        await expectAllEnded(survived);
        for (const stream of [...orphaned.held, ...orphaned.waiting]) {
          expect((await stream.ended).code).toBe('UNAVAILABLE');
        }
        // Another server gives the same answers to the clients of the killed server.
        const { client, held, unary } = orphaned;
        client.moveTo(fleet.member(0).address);
        await expectRevoked(client.renew(unary));
        await expectRevoked(client.attach(held[0]?.held as Held).granted());
        await expectGone(scenario, name);
      }),
  );
});

describe('limit changed', () => {
  const LOAD_MS = 5000;
  /** The load delays messages, because several busy processes share two cores. */
  const CHECKS = { latencyUs: 1_000_000 };

  /** Server 0 stays up. Server 1 reaches Redis through a proxy that cuts connections. Tests kill servers 2 and 3. */
  let fleet: Fleet;

  beforeAll(async () => {
    const redisProxy = true;
    fleet = await Fleet.start({ members: [{}, { redisProxy }, { redisProxy }, { redisProxy }] });
  });

  afterAll(() => fleet?.close());

  /** Matches the runs of a script for one semaphore. */
  function runsFor(kind: ScriptKind, name: string) {
    return runsOf(kind, leaseKeys(PREFIX, { service: 'semaphore', name })[0]);
  }

  /** Clients that acquire and release without pause, at server 0 and at a server that a test may kill. */
  async function underLoad(scenario: Scenario, name: string, index: number): Promise<ClientProcess> {
    const task: LoadTask = {
      call: 'load',
      client: `load at ${index}`,
      clientCount: 12,
      addresses: [fleet.member(0).address, fleet.member(index).address],
      service: 'semaphore',
      name,
      mostPermits: 4,
      sharedPercent: 0,
      seed: index,
      forMs: LOAD_MS,
    };
    const clients = await ClientProcess.start(scenario, task);
    await clients.said('granted');
    return clients;
  }

  test.concurrent('a limit change is made exactly once when its command or its reply is lost', () =>
    runScenario({ fleet, title: 'lost limit', ...CHECKS }, async (scenario) => {
      const name = await scenario.semaphore('permits', 10);
      const clients = await underLoad(scenario, name, 1);
      const { redisProxy } = fleet.member(1);
      const operator = scenario.operator('operator', fleet.member(1));
      let limit = 10;
      for (const next of [4, 12, 0, 6]) {
        const matches = runsFor('limit', name);
        const lost = next < limit ? redisProxy.dropNextReply(matches) : redisProxy.dropNextRequest(matches);
        const end = scenario.fault('reply_dropped', `the reply or command of limit ${next}`, {
          names: [name],
        });
        // The server repeats the command. After a lost reply, `limit` is no longer in force.
        expect(await operator.setLimit(name, next, limit)).toEqual([]);
        await lost.then(end);
        expect((await scenario.observer.read(name)).limit).toBe(next);
        limit = next;
      }
      await expect(operator.setLimit(name, 8, 10)).rejects.toMatchObject({
        ending: { reason: 'LIMIT_MISMATCH', metadata: { limit: '6', expected_limit: '10' } },
      });
      await clients.finished(LOAD_MS + 15_000);
    }),
  );

  test.concurrent.each([
    { what: 'before Redis received the command', index: 2, isDone: false },
    { what: 'after Redis ran the command', index: 3, isDone: true },
  ])('a limit change succeeds at another server when its server is killed $what', ({ what, index, isDone }) =>
    runScenario({ fleet, title: `killed ${what}`, ...CHECKS }, async (scenario) => {
      const name = await scenario.semaphore('permits', 10);
      const clients = await underLoad(scenario, name, index);
      const { redisProxy, server } = fleet.member(index);
      const operator = scenario.operator('operator', fleet.member(index));
      const matches = runsFor('limit', name);
      const change = operator.setLimit(name, 4, 10);
      await (isDone ? redisProxy.dropNextReply(matches) : redisProxy.dropNextRequest(matches));
      scenario.instant('server_killed', what);
      await server.kill();
      expect(await change).toEqual(['UNAVAILABLE']);
      expect((await scenario.observer.read(name)).limit).toBe(4);
      expect(await scenario.operator('another', fleet.member(0)).setLimit(name, 7, 4)).toEqual([]);
      await clients.finished(LOAD_MS + 15_000);
    }),
  );
});

describe('semaphore load', () => {
  const PROCESSES = 4;
  const CLIENTS = 16;
  const LOAD_MS = 8000;
  const READING_MS = 4000;
  /** The load delays messages, because several busy processes share two cores. */
  const CHECKS = { latencyUs: 1_000_000, limitMs: 40_000 };
  const TEST_MS = 60_000;
  /** The least number of grants for a meaningful test. */
  const MIN_GRANTS = 20;

  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ members: [{}, {}] });
  });

  afterAll(() => fleet?.close());

  type Wanted = Pick<LoadTask, 'service' | 'name' | 'mostPermits' | 'sharedPercent'>;

  /** Client processes with different seeds. */
  class Crowd {
    private started = 0;
    private readonly running: ClientProcess[] = [];

    constructor(
      private readonly scenario: Scenario,
      private readonly wanted: Wanted,
      private readonly until: number,
    ) {}

    async join(): Promise<void> {
      this.started += 1;
      const task: LoadTask = {
        ...this.wanted,
        call: 'load',
        client: `p${this.started}`,
        clientCount: CLIENTS,
        addresses: fleet.members.map((member) => member.address),
        seed: this.started,
        forMs: Math.max(1000, this.until - performance.now()),
      };
      this.running.push(await ClientProcess.start(this.scenario, task));
    }

    /** Kills the oldest process and starts a new process. */
    async replaceOldest(): Promise<void> {
      this.running.shift()?.kill();
      await this.join();
    }

    async finished(): Promise<void> {
      await Promise.all(this.running.map((process) => process.finished(LOAD_MS + 15_000)));
    }
  }

  function grantsOf(scenario: Scenario): number {
    return scenario.history().filter(({ type }) => type === 'granted').length;
  }

  async function crowd(scenario: Scenario, wanted: Wanted, forMs: number): Promise<Crowd> {
    const clients = new Crowd(scenario, wanted, performance.now() + forMs);
    await Promise.all(Array.from({ length: PROCESSES }, () => clients.join()));
    return clients;
  }

  test(
    '64 clients never hold more permits than a changing limit, although their processes are killed',
    () =>
      runScenario({ fleet, title: 'load', ...CHECKS }, async (scenario) => {
        const name = await scenario.semaphore('permits', 10);
        const operator = scenario.operator('operator', fleet.member(1));
        const wanted = { service: 'semaphore', name, mostPermits: 6, sharedPercent: 0 } as const;
        const clients = await crowd(scenario, wanted, LOAD_MS);
        let limit = 10;
        for (const next of [4, 12, 0, 10]) {
          await sleep(LOAD_MS / 6);
          await operator.setLimit(name, next, limit);
          limit = next;
          if (next === 4 || next === 12) await clients.replaceOldest();
        }
        await clients.finished();
        expect(grantsOf(scenario)).toBeGreaterThan(MIN_GRANTS);
      }),
    TEST_MS,
  );

  test(
    'a lock of 64 clients has several readers or one writer, although their processes are killed',
    () =>
      runScenario({ fleet, title: 'reading', ...CHECKS }, async (scenario) => {
        const name = scenario.lock('document');
        const wanted = { service: 'lock', name, mostPermits: 1, sharedPercent: 75 } as const;
        const clients = await crowd(scenario, wanted, READING_MS);
        await scenario.observer.waitFor(name, 'several readers', ({ holders }) => holders.length > 1);
        for (let kills = 0; kills < 2; kills += 1) {
          await sleep(READING_MS / 3);
          await clients.replaceOldest();
        }
        await clients.finished();
        expect(grantsOf(scenario)).toBeGreaterThan(MIN_GRANTS);
      }),
    TEST_MS,
  );
});
