import fc from 'fast-check';
import { epochAdopt } from '../../generated/redis/scripts';
import { StoreFailure } from '../../src/base/errors';
import type { Resource } from '../../src/leases/lease';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { Requester } from '../support/leases/lease-requester';
import { TestServer } from '../support/leases/lease-server';
import { PARTS } from '../support/leases/lease-stored';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { failureOf, is } from '../support/reply-kinds';
import { assertWithinTime, HISTORIES } from '../support/timed-property';

const MAX_TTL_MS = 20_000;
const QUARANTINE_MS = MAX_TTL_MS + 5000;
/** The largest error of the model's times: the machine may take this long between two commands. */
const SLACK_MS = 1000;
const NEVER = Number.MAX_SAFE_INTEGER;

type Step =
  | { readonly what: 'acquire' | 'renew' | 'release'; readonly by: number; readonly ttlMs: number }
  | { readonly what: 'pass'; readonly ms: number }
  | { readonly what: 'save' | 'flush' | 'restart' | 'restart, last writes lost' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom('acquire', 'renew', 'release'),
      by: fc.nat(2),
      ttlMs: fc.integer({ min: 3000, max: MAX_TTL_MS }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('pass' as const), ms: fc.integer({ min: 500, max: 28_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constantFrom('save', 'flush', 'restart', 'restart, last writes lost') }),
  },
);

interface Believed {
  readonly token: bigint;
  /** The end of the belief, by the holder's clock. */
  untilMs: number;
}

/** The key with the saved copy of `key`, which a lossy restart restores. */
const saved = (key: string) => `saved ${key}`;

/** One lock in a Redis that loses data, and the leases that clients believe in. */
class World {
  nowMs = 0;
  runs = 1;
  grants = 0;
  refusals = 0;
  readonly broken: string[] = [];
  private readonly holders = new Map<Requester, Believed>();
  private readonly requesters: Requester[] = [];
  private lastToken = 0n;
  private savedAtMs: number | undefined;

  constructor(
    private readonly on: LeaseFixture,
    private readonly server: TestServer,
    private readonly lock: Resource,
    /** The durability that every run of Redis reports: `a` means every write on disk. A false `a` must break a rule. */
    private readonly durability: 'a' | 'w',
  ) {}

  private get runId(): string {
    return String(this.runs).padStart(40, '0');
  }

  async adopt(isNew = false): Promise<void> {
    const key = this.on.epochKey(this.lock);
    if (isNew) await this.on.redis.command('DEL', key);
    const args = [this.runId, this.durability, QUARANTINE_MS, '', isNew ? 1 : 0, 0, NEVER, 0, ''];
    await this.on.redis.command('EVAL', epochAdopt, 1, key, ...args);
  }

  async take(next: Step): Promise<void> {
    switch (next.what) {
      case 'acquire':
        return this.acquire(new Requester(this.server, this.lock, { ttlMs: next.ttlMs }));
      case 'renew':
        return this.renew(this.requesters.at(-1 - next.by), next.ttlMs);
      case 'release':
        return this.release(this.requesters.at(-1 - next.by));
      case 'pass':
        return this.pass(next.ms);
      case 'save':
        return this.save();
      case 'flush':
        await this.on.redis.command('DEL', ...this.keys);
        return;
      case 'restart':
        this.runs += 1;
        return;
      case 'restart, last writes lost':
        this.runs += 1;
        return this.restore();
    }
  }

  /** Sends a command as a server does: if the epoch is out of date, adopts the epoch and sends the command again. */
  private async send<Reply>(command: () => Promise<Reply>): Promise<Reply | undefined> {
    this.server.epochArguments = [`${this.runId} ${this.durability} ${QUARANTINE_MS} 0`, NEVER];
    for (;;) {
      this.server.turnedBack.splice(0);
      const reply = await command().catch((error: unknown) => {
        if (error instanceof StoreFailure && error.kind === 'quarantined') return undefined;
        throw error;
      });
      if (this.server.turnedBack[0] !== 'EPOCH') return reply;
      await this.adopt();
    }
  }

  async acquire(by: Requester): Promise<void> {
    const reply = await this.send(() => by.try());
    if (reply?.kind !== 'granted') {
      this.refusals += 1;
      return;
    }
    for (const { token, untilMs } of this.holders.values()) {
      if (untilMs > this.nowMs + SLACK_MS) {
        this.broken.push(`${reply.fencingToken} was granted ${untilMs - this.nowMs} ms before ${token} ends`);
      }
    }
    if (reply.fencingToken <= this.lastToken)
      this.broken.push(`token ${reply.fencingToken} after ${this.lastToken}`);
    this.lastToken = reply.fencingToken;
    this.grants += 1;
    this.requesters.push(by);
    this.holders.set(by, { token: reply.fencingToken, untilMs: this.nowMs + reply.remainingMs });
  }

  private async renew(by: Requester | undefined, ttlMs: number): Promise<void> {
    const belief = by && this.holders.get(by);
    if (!by || !belief || belief.untilMs <= this.nowMs) return;
    const reply = await this.send(() => by.renew(by.secret, ttlMs));
    if (reply?.kind === 'granted') belief.untilMs = Math.max(belief.untilMs, this.nowMs + reply.remainingMs);
  }

  private async release(by: Requester | undefined): Promise<void> {
    if (!by) return;
    this.holders.delete(by);
    await this.send(() => by.release(by.secret));
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    await this.shift(ms);
  }

  private async shift(ms: number): Promise<void> {
    if (ms === 0) return;
    await this.on.pass(this.lock, ms);
    const key = this.on.epochKey(this.lock);
    const fields = (((await this.on.redis.command('GET', key)) as string | null) ?? '').split(' ');
    if (fields.length < 6) return;
    for (const at of [4, 5]) fields[at] = String(BigInt(fields[at] as string) - BigInt(ms * 1000));
    await this.on.redis.command('SET', key, fields.join(' '));
  }

  private get keys(): string[] {
    return [...PARTS.map((part) => this.on.key(this.lock, part)), this.on.epochKey(this.lock)];
  }

  private async save(): Promise<void> {
    this.savedAtMs = this.nowMs;
    for (const key of this.keys) {
      await this.on.redis.command('DEL', saved(key));
      await this.on.redis.command('COPY', key, saved(key));
    }
  }

  /** Restores the last saved state. Its times move to the present. */
  private async restore(): Promise<void> {
    await this.on.redis.command('DEL', ...this.keys);
    if (this.savedAtMs === undefined) return;
    for (const key of this.keys) await this.on.redis.command('COPY', saved(key), key);
    await this.shift(this.nowMs - this.savedAtMs);
  }
}

describe('a store that loses data, in random histories', () => {
  let on: LeaseFixture;
  let server: TestServer;
  beforeAll(async () => {
    on = await LeaseFixture.open();
    server = await on.server('s1');
  });
  afterAll(() => on.close());

  const counts = { grants: 0, refusals: 0 };

  async function run(steps: readonly Step[], durability: 'a' | 'w'): Promise<World> {
    const world = new World(on, server, on.resource(), durability);
    await world.adopt(true);
    for (const next of steps) await world.take(next);
    counts.grants += world.grants;
    counts.refusals += world.refusals;
    return world;
  }

  const histories = fc.array(step, { minLength: 4, maxLength: 25 });

  it('grants nothing while a client believes in a lease, raises tokens, and grants again in the end', async () => {
    await assertWithinTime(
      fc.asyncProperty(histories, async (steps) => {
        const world = await run(steps, 'w');
        expect(world.broken).toEqual([]);
        const before = world.grants;
        // The first acquire detects the loss. An acquire after the quarantine is granted.
        for (let tries = 0; tries < 2; tries += 1) {
          await world.take({ what: 'acquire', by: 0, ttlMs: 3000 });
          await world.pass(QUARANTINE_MS + SLACK_MS);
        }
        await world.take({ what: 'acquire', by: 0, ttlMs: 3000 });
        expect(world.grants).toBeGreaterThan(before);
        expect(world.broken).toEqual([]);
      }),
      { weight: HISTORIES },
    );
    expect(counts.grants).toBeGreaterThan(0);
    expect(counts.refusals).toBeGreaterThan(0);
  });

  it('grants too early only if a Redis that loses writes reports full durability', async () => {
    const lost: Step[] = [
      { what: 'save' },
      { what: 'acquire', by: 0, ttlMs: MAX_TTL_MS },
      { what: 'restart, last writes lost' },
      { what: 'acquire', by: 0, ttlMs: MAX_TTL_MS },
    ];
    expect((await run(lost, 'a')).broken).toHaveLength(1);
    expect((await run(lost, 'w')).broken).toEqual([]);
  });
});

/** Below `min-replicas-max-lag`, and long enough for the replica to take over on a busy machine. */
const SHORT_MS = 6000;
const LAG_ARGS = [
  '--min-replicas-to-write',
  '1',
  '--min-replicas-max-lag',
  '10',
  '--repl-diskless-sync-delay',
  '0',
];

/** Two Redis act as master at the same time, and each has a server. */
describe('a master that was cut off, and the replica that took over', () => {
  let before: RedisProcess;
  let after: RedisProcess;
  let link: TcpProxy;
  let stayed: TestServer;
  let moved: TestServer;
  beforeEach(async () => {
    [before, after] = await Promise.all([
      RedisProcess.start({ args: LAG_ARGS }),
      RedisProcess.start({ args: LAG_ARGS }),
    ]);
    link = await TcpProxy.open({ targetPort: before.port, protocol: 'tcp' });
    await after.command('REPLICAOF', '127.0.0.1', link.port);
    await eventually(
      'the replica to be online',
      async () => /slave0:.*state=online/.test(String(await before.command('INFO', 'replication'))),
      { timeoutMs: 15_000 },
    );
    stayed = await connect('stayed', before, true);
  }, 60_000);
  afterEach(async () => {
    stayed?.close();
    moved?.close();
    await link?.close();
    await Promise.all([before?.close(), after?.close()]);
  });

  async function connect(name: string, { url }: RedisProcess, storeIsNew = false): Promise<TestServer> {
    const options = { url, commandTimeoutMs: 1000, retentionMs: 3_600_000, quarantineMs: 60_000, storeIsNew };
    const server = new TestServer(name, options);
    await server.node.ready(10_000);
    return server;
  }

  async function splitNetwork(): Promise<void> {
    await before.command('SET', 'mark', 'everything before this key is replicated');
    await eventually(
      'the replica to have everything',
      async () => (await after.command('GET', 'mark')) !== null,
    );
    link.blackHole('both');
    await after.command('REPLICAOF', 'NO', 'ONE');
    await after.command('CONFIG', 'SET', 'min-replicas-to-write', 0);
    moved = await connect('moved', after);
  }

  const quarantined = { carriedOut: 'no', kind: 'quarantined' };

  it('never have two holders, because the new master renews no lease that may end while the old master still grants', async () => {
    const [short, long, bob] = [
      new Requester(stayed, { service: 'lock', name: 'short' }, { ttlMs: SHORT_MS }),
      new Requester(stayed, { service: 'lock', name: 'long' }, { ttlMs: 60_000 }),
      new Requester(stayed, { service: 'lock', name: 'short' }, { ttlMs: 60_000 }),
    ];
    is('granted', await short.try());
    is('granted', await long.try());
    await splitNetwork();
    expect(moved.node.quarantine?.cause).toBe('restarted');
    const there = (by: Requester) => new Requester(moved, by.resource, { requestId: by.requestId });
    expect(await failureOf(there(short).renew(short.secret, 60_000))).toMatchObject(quarantined);
    is('granted', await there(long).renew(long.secret, 60_000));
    // The old master grants the expired lock to bob while it still counts its replica as connected.
    await eventually(
      'the next grant',
      async () => (await bob.try().catch(() => undefined))?.kind === 'granted',
      { timeoutMs: 3 * SHORT_MS },
    );
    expect(await failureOf(there(bob).try())).toMatchObject(quarantined);
  }, 60_000);
});
