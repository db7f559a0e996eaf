import type { Resource, Service } from '../../../src/leases/lease';
import type { RemoveReply, SetLimitCommand, SetLimitReply } from '../../../src/leases/lease-store';
import { bucketOf, EPOCH_AT, wakeChannel } from '../../../src/redis/buckets';
import { leaseKeys } from '../../../src/leases/redis/lease-keys';
import { eventually } from '../eventually';
import { Requester, type RequesterOptions } from './lease-requester';
import { PREFIX, TestServer, withFrozenClock } from './lease-server';
import {
  addGhost,
  keyOf,
  moveTimes,
  readStored,
  setEnd,
  setNumbers,
  type Part,
  type Stored,
  FROZEN_CLOCK,
} from './lease-stored';
import { RedisProcess, type RedisProcessOptions } from '../processes/redis-process';
import { is } from '../reply-kinds';

export interface FixtureOptions extends RedisProcessOptions {
  readonly commandTimeoutMs?: number;
  readonly retentionMs?: number;
  /**
   * Time passes for scripts only by `pass` and `passInUse`, so that results do not depend on the load of the machine.
   */
  readonly frozenClock?: boolean;
  /** The head of a resource has room for two leases and two tombstones (leases/scripts/shared/layout.lua). */
  readonly smallHead?: boolean;
}

/** A private Redis with the stores of several servers. The fixture can move stored times and read the stored state. */
export class LeaseFixture {
  private readonly servers = new Map<string, TestServer>();
  private names = 0;
  private frozen: [seconds: string, us: string] | undefined;

  private constructor(
    readonly redis: RedisProcess,
    private readonly options: FixtureOptions,
  ) {}

  static async open(options: FixtureOptions = {}): Promise<LeaseFixture> {
    const redis = await RedisProcess.start({ appendfsync: 'no', ...options });
    const fixture = new LeaseFixture(redis, options);
    if (options.frozenClock) {
      const [seconds, us] = (await redis.command('TIME')) as [string, string];
      // The clock is an hour ahead of Redis, so that no key expires during a test.
      await fixture.freezeClock([String(Number(seconds) + 3600), us]);
    }
    return fixture;
  }

  async close(): Promise<void> {
    for (const server of this.servers.values()) server.close();
    await this.redis.close();
  }

  /** The connected store of the server with this id. */
  async server(id: string, url = this.redis.url): Promise<TestServer> {
    let server = this.servers.get(id);
    if (!server) {
      const {
        commandTimeoutMs = 2000,
        retentionMs = 3_600_000,
        frozenClock = false,
        smallHead = false,
      } = this.options;
      server = new TestServer(id, { url, commandTimeoutMs, retentionMs, frozenClock, smallHead });
      this.servers.set(id, server);
      await server.node.ready(5000);
      if (frozenClock) {
        const epoch = (await this.redis.command(
          'GET',
          this.epochKey({ service: 'lock', name: '' }),
        )) as string;
        server.epochArguments = [epoch, Number.MAX_SAFE_INTEGER];
      }
    }
    return server;
  }

  /** Subscribes the server to hints, and waits until the subscription is in force. */
  async listen(server: TestServer): Promise<void> {
    server.listen();
    // A single command subscribes to the channels of all buckets, so the check of one channel is enough.
    const channel = wakeChannel(PREFIX, 0, server.id);
    await eventually('the server to be subscribed', async () => {
      const [, count] = (await this.redis.command('PUBSUB', 'SHARDNUMSUB', channel)) as string[];
      return count === '1';
    });
  }

  /** A resource that no other test uses. */
  resource(service: Service = 'lock'): Resource {
    this.names += 1;
    return { service, name: `name ${this.names}` };
  }

  /** As `resource`, in the bucket of another resource. */
  resourceBeside({ name }: Resource, service: Service = 'lock'): Resource {
    for (;;) {
      const resource = this.resource(service);
      if (bucketOf(resource.name) === bucketOf(name)) return resource;
    }
  }

  async request(serverId: string, resource: Resource, options?: RequesterOptions): Promise<Requester> {
    return new Requester(await this.server(serverId), resource, options);
  }

  /** `count` equal requests of one server. */
  async requests(
    count: number,
    serverId: string,
    resource: Resource,
    options?: RequesterOptions,
  ): Promise<Requester[]> {
    const server = await this.server(serverId);
    return Array.from({ length: count }, () => new Requester(server, resource, options));
  }

  async setLimit(
    resource: Resource,
    limit: SetLimitCommand['limit'],
    { expectedLimit, by = 's1' }: { expectedLimit?: number; by?: string } = {},
  ): Promise<SetLimitReply> {
    return (await this.server(by)).store.setLimit(resource, { limit, expectedLimit });
  }

  /** A semaphore with one holder of all permits. */
  async fullSemaphore(limit: number): Promise<{ semaphore: Resource; holder: Requester }> {
    const semaphore = this.resource('semaphore');
    is('set', await this.setLimit(semaphore, limit));
    const holder = await this.request('s1', semaphore, { permits: limit });
    is('granted', await holder.try());
    return { semaphore, holder };
  }

  async remove(
    resource: Resource,
    { force = false, by = 's1' }: { force?: boolean; by?: string } = {},
  ): Promise<RemoveReply> {
    return (await this.server(by)).store.remove(resource, { force });
  }

  /** Runs a script of s1 once and returns its reply word. Unlike the store, `step` does not repeat it after AGAIN. */
  async step(text: string, resource: Resource, ...args: (string | number)[]): Promise<string> {
    const keys = leaseKeys(PREFIX, resource);
    const epoch = (await this.redis.command('GET', this.epochKey(resource))) as string;
    const [word] = (await this.redis.command(
      'EVAL',
      this.frozen ? withFrozenClock(text) : text,
      keys.length,
      ...keys,
      's1',
      3_600_000,
      epoch,
      Number.MAX_SAFE_INTEGER,
      ...args,
    )) as [string];
    return word;
  }

  key(resource: Resource, part: Part): string {
    return keyOf(PREFIX, resource, part);
  }

  /** The key of the limit that SetSemaphoreLimit sets. */
  limitKey(semaphore: Resource): string {
    return this.key(semaphore, 'limit');
  }

  epochKey(resource: Resource): string {
    return leaseKeys(PREFIX, resource)[EPOCH_AT];
  }

  /** Lets time pass without a script on the resource. A negative time sets Redis's clock back. */
  pass(resource: Resource, ms: number): Promise<void> {
    return moveTimes(this.redis, PREFIX, resource, ms);
  }

  /** Lets time pass as `pass` does, but with scripts on the resource, so that there is no stall. */
  async passInUse(resource: Resource, ms: number): Promise<void> {
    const { seen } = (await this.stored(resource)).numbers;
    await this.pass(resource, ms);
    await this.setNumbers(resource, { seen: Number(seen) });
  }

  /** Edits numbers of the head (layout.lua) manually. */
  setNumbers(resource: Resource, numbers: Readonly<Record<string, number>>): Promise<void> {
    return setNumbers(this.redis, PREFIX, resource, numbers);
  }

  /** Adds a member without a record. */
  addGhost(
    resource: Resource,
    part: 'ends' | 'offers' | 'queue' | 'detached',
    score: number | string,
  ): Promise<void> {
    return addGhost(this.redis, PREFIX, resource, part, score);
  }

  /** Edits the end of a lease manually (us, or '+inf'). */
  setEnd({ resource, requestId }: Requester, end: number | string): Promise<void> {
    return setEnd(this.redis, PREFIX, resource, requestId, String(end));
  }

  /** Deletes all data of Redis, and ends the quarantine after the loss. */
  async forget(): Promise<void> {
    await this.redis.command('FLUSHALL');
    if (this.frozen) await this.freezeClock(this.frozen);
    await (await this.server('s1')).node.endQuarantine();
  }

  /** Redis's clock, in microseconds. */
  async now(): Promise<string> {
    const [seconds, us] = this.frozen ?? ((await this.redis.command('TIME')) as [string, string]);
    return seconds + us.padStart(6, '0');
  }

  /** Records that the server ran a script on the resource now. */
  async beat(resource: Resource, serverId: string): Promise<void> {
    await this.redis.command('ZADD', this.key(resource, 'live'), await this.now(), serverId);
  }

  /** Sets the time (us) at which a request entered the queue. */
  async setQueuedAt({ resource, requestId }: Requester, time: number): Promise<void> {
    const edit = `
      local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[1]))
      record.q = tonumber(ARGV[2])
      redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack(record))`;
    await this.redis.command('EVAL', edit, 1, this.key(resource, 'state'), `r${requestId}`, time);
  }

  /** Revokes the lease of a request without force. */
  async revoke({ resource, token = 0n }: Requester): Promise<void> {
    const target = { kind: 'token', fencingToken: token } as const;
    const { store } = await this.server('s1');
    const reply = is('revoked', await store.revoke(resource, { target, force: false, after: undefined }));
    if (reply.count !== 1) throw new Error('no lease was revoked');
  }

  stored(resource: Resource): Promise<Stored> {
    return readStored(this.redis, PREFIX, resource, this.frozen !== undefined);
  }

  /** The ids in a stored set of the resource. */
  async idsIn(resource: Resource, set: keyof Stored['sets']): Promise<string[]> {
    return (await this.stored(resource)).sets[set].map(({ id }) => id);
  }

  /** Touches the resource from s1 until no batch is left. Returns the value of `observe` after each touch. */
  async finishBatches<T>(resource: Resource, observe: () => Promise<T>): Promise<T[]> {
    const server = await this.server('s1');
    const seen: T[] = [];
    for (let more = true; more;) {
      const before = server.mores;
      await server.store.touch(resource, []);
      more = server.mores > before;
      seen.push(await observe());
    }
    return seen;
  }

  private async freezeClock(time: [seconds: string, us: string]): Promise<void> {
    this.frozen = time;
    await this.redis.command('HSET', FROZEN_CLOCK, 's', time[0], 'us', time[1]);
  }
}
