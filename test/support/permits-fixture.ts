import { type Clock, systemClock } from '../../src/engine/clock';
import type { Resource, Service } from '../../src/engine/leases/lease';
import type { RemoveReply, SetLimitReply } from '../../src/engine/leases/permits-store';
import { permitsKeys, wakeChannel } from '../../src/redis/keys';
import type { EpochGuard } from '../../src/redis/connection/operation';
import { RedisNode } from '../../src/redis/topology/node';
import { Notifications } from '../../src/redis/topology/notifications';
import { RedisPermitsStore } from '../../src/redis/leases/permits-store';
import type { Reply } from '../../src/redis/connection/script-command';
import { eventually } from './eventually';
import { Requester, type RequesterOptions } from './permits-requester';
import { RedisProcess, type RedisProcessOptions } from './processes/redis-process';

export const PREFIX = 'test';
export const PARTS = ['state', 'ends', 'offers', 'queue', 'detached', 'ended', 'live'] as const;
export type Part = (typeof PARTS)[number];

/** What Redis has of one resource, as it lies there: records unpacked, members with their scores. */
export interface Stored {
  readonly numbers: Readonly<Record<string, string>>;
  readonly records: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly sets: Readonly<Record<Exclude<Part, 'state'>, readonly { id: string; score: number }[]>>;
}

/** Numbers become text first: cjson keeps 14 digits only, and a time in microseconds has 16. */
const READ = `
local fields, sets = {}, {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 1) == 'r' then
    local record = {}
    for k, v in pairs(cmsgpack.unpack(all[i + 1])) do
      record[k] = type(v) == 'number' and string.format('%.0f', v) or tostring(v)
    end
    fields[all[i]] = record
  else
    fields[all[i]] = all[i + 1]
  end
end
for i = 2, #KEYS do sets[i - 1] = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES') end
return cjson.encode({ fields, sets })`;

/** Everything measured in time moves into the past by ARGV[1] us; places, tokens and the keys' expiry stay. */
const SHIFT = `
local by = string.format('%.0f', -tonumber(ARGV[1]))
for i = 2, #KEYS do
  local members = redis.call('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
  for m = 1, #members, 2 do redis.call('ZINCRBY', KEYS[i], by, members[m]) end
end
local moving = redis.call('HGET', KEYS[1], 'moving')
if moving then
  moving = cmsgpack.unpack(moving)
  if moving.at then moving.at = moving.at - tonumber(ARGV[1]) end
  redis.call('HSET', KEYS[1], 'moving', cmsgpack.pack(moving))
end
for _, field in ipairs({ 'seen', 'grace', 'graced', 'offers', 'detached', 'ended' }) do
  if redis.call('HEXISTS', KEYS[1], field) == 1 then redis.call('HINCRBY', KEYS[1], field, by) end
end`;

export interface TestServerOptions {
  readonly url: string;
  readonly commandTimeoutMs: number;
  readonly retentionMs: number;
  readonly quarantineMs?: number;
  readonly storeIsNew?: boolean;
  readonly clock?: Clock;
}

const TURNED_BACK = ['STALE', 'EPOCH', 'QUARANTINED'];

/** Long enough that no test sees it end by itself, unless it asks for less. */
const QUARANTINE_MS = 60_000;

/** A store that speaks for one server, with what it was told. */
export class TestServer {
  readonly store: RedisPermitsStore;
  readonly node: RedisNode;
  /** Request ids to look at again, from replies; `hinted` are those that came by pub/sub. */
  looks: string[] = [];
  readonly hinted: string[] = [];
  mores = 0;
  /** What scripts are sent with instead of what is right: a run of Redis, and the time after which they do nothing. */
  epochArguments: readonly [string, number] | undefined;
  /** The words of scripts that were turned back for it. */
  readonly turnedBack: string[] = [];
  /** The answer of each script run, and how many requests it said to look at again. */
  readonly answers: { word: string; told: number }[] = [];
  private notifications: Notifications | undefined;

  constructor(
    readonly id: string,
    private readonly options: TestServerOptions,
  ) {
    this.node = new RedisNode({
      quarantineMs: QUARANTINE_MS,
      storeIsNew: true,
      clock: systemClock,
      ...options,
      prefix: PREFIX,
      onError: () => undefined,
    });
    const { connection, epochs } = this.node;
    const guard: EpochGuard = {
      epochArguments: (deadline, keys) => this.epochArguments ?? epochs.epochArguments(deadline, keys),
      epochCheck: (reply, keys, sentAt) => {
        const word = String(reply[0]);
        if (!this.epochArguments) return epochs.epochCheck(reply, keys, sentAt);
        if (!TURNED_BACK.includes(word)) return undefined;
        this.turnedBack.push(word);
        return Promise.resolve({ kind: 'quarantined', forMs: Number(reply[3]) / 1000 });
      },
    };
    const run = connection.run.bind(connection);
    connection.run = (what, keys, args, read, given) => {
      const noting = (reply: Reply[], sentAt: number) => {
        const [word, , told] = reply;
        if (Array.isArray(told)) this.answers.push({ word: String(word), told: told.length });
        return read(reply, sentAt);
      };
      return run(what, keys, args, noting, given);
    };
    this.store = new RedisPermitsStore({
      ...options,
      connection,
      guard,
      prefix: PREFIX,
      serverId: id,
    });
    this.store.listen({
      recheck: (_resource, requestId) => void this.looks.push(requestId),
      workLeft: () => void (this.mores += 1),
    });
  }

  /** Hears hints of other servers from here on. */
  listen(): void {
    this.notifications ??= new Notifications({
      ...this.options,
      clock: systemClock,
      prefix: PREFIX,
      serverId: this.id,
      onLook: (_resource, requestId) => void this.hinted.push(requestId),
      onError: () => undefined,
    });
  }

  close(): void {
    this.notifications?.close();
    this.node.close();
  }
}

export interface FixtureOptions extends RedisProcessOptions {
  readonly commandTimeoutMs?: number;
  readonly retentionMs?: number;
}

/** A private Redis with the stores of several servers on it, and hands to move its time and to look inside. */
export class PermitsFixture {
  private readonly servers = new Map<string, TestServer>();
  private names = 0;

  private constructor(
    readonly redis: RedisProcess,
    private readonly options: FixtureOptions,
  ) {}

  static async open(options: FixtureOptions = {}): Promise<PermitsFixture> {
    return new PermitsFixture(await RedisProcess.start({ appendfsync: 'no', ...options }), options);
  }

  async close(): Promise<void> {
    for (const server of this.servers.values()) server.close();
    await this.redis.close();
  }

  /** The store of the server of that name, connected. */
  async server(id: string, url = this.redis.url): Promise<TestServer> {
    let server = this.servers.get(id);
    if (!server) {
      const { commandTimeoutMs = 2000, retentionMs = 3_600_000 } = this.options;
      server = new TestServer(id, { url, commandTimeoutMs, retentionMs });
      this.servers.set(id, server);
      await server.node.ready(5000);
    }
    return server;
  }

  /** Hears from here on what other servers' scripts tell this one. */
  async listen(server: TestServer): Promise<void> {
    server.listen();
    // One command asks for all of them, so one tells of all.
    const channel = wakeChannel(PREFIX, 0, server.id);
    await eventually('the server to be subscribed', async () => {
      const [, count] = (await this.redis.command('PUBSUB', 'SHARDNUMSUB', channel)) as string[];
      return count === '1';
    });
  }

  /** A name that no other test uses. */
  resource(service: Service = 'lock'): Resource {
    this.names += 1;
    return { service, name: `name ${this.names}` };
  }

  async request(serverId: string, resource: Resource, options?: RequesterOptions): Promise<Requester> {
    return new Requester(await this.server(serverId), resource, options);
  }

  /** So many requests of one server, alike. */
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
    limit: number,
    { expectedLimit, by = 's1' }: { expectedLimit?: number; by?: string } = {},
  ): Promise<SetLimitReply> {
    return (await this.server(by)).store.setLimit(resource, { limit, expectedLimit });
  }

  async remove(
    resource: Resource,
    { force = false, by = 's1' }: { force?: boolean; by?: string } = {},
  ): Promise<RemoveReply> {
    return (await this.server(by)).store.remove(resource, { force });
  }

  /** Runs a script of s1 once, where the store would go on as long as it answers AGAIN; the word of its answer. */
  async step(text: string, resource: Resource, ...args: (string | number)[]): Promise<string> {
    const keys = permitsKeys(PREFIX, resource);
    const epoch = (await this.redis.command('GET', this.epochKey(resource))) as string;
    args.push(epoch, Number.MAX_SAFE_INTEGER);
    const [word] = (await this.redis.command('EVAL', text, keys.length, ...keys, 's1', ...args)) as [string];
    return word;
  }

  key(resource: Resource, part: Part): string {
    return permitsKeys(PREFIX, resource)[PARTS.indexOf(part)] as string;
  }

  /** Where a semaphore's limit is that was set, and not only brought by a request. */
  limitKey(semaphore: Resource): string {
    return permitsKeys(PREFIX, semaphore)[PARTS.length + 1] as string;
  }

  /** Where the epoch of a name's bucket is. */
  epochKey(resource: Resource): string {
    return permitsKeys(PREFIX, resource)[PARTS.length] as string;
  }

  /** As if nothing had happened for this resource for that long; less than nothing: Redis's clock was set back. */
  async pass(resource: Resource, ms: number): Promise<void> {
    const parts = PARTS.filter((part) => part !== 'queue');
    const keys = parts.map((part) => this.key(resource, part));
    await this.redis.command('EVAL', SHIFT, keys.length, ...keys, Math.round(ms * 1000));
  }

  /** As `pass`, but the resource was in use meanwhile: it is no stall. */
  async passInUse(resource: Resource, ms: number): Promise<void> {
    const state = this.key(resource, 'state');
    const seen = (await this.redis.command('HGET', state, 'seen')) as string;
    await this.pass(resource, ms);
    await this.redis.command('HSET', state, 'seen', seen);
  }

  /** The store has forgotten everything, and all that may be believed of it has ended. */
  async forget(): Promise<void> {
    await this.redis.command('FLUSHALL');
    await (await this.server('s1')).node.endQuarantine();
  }

  /** Redis's clock, in microseconds. */
  async now(): Promise<string> {
    const [seconds, us] = (await this.redis.command('TIME')) as [string, string];
    return seconds + us.padStart(6, '0');
  }

  /** As if a server had sent its heartbeat just now. */
  async beat(resource: Resource, serverId: string): Promise<void> {
    await this.redis.command('ZADD', this.key(resource, 'live'), await this.now(), serverId);
  }

  async stored(resource: Resource): Promise<Stored> {
    const keys = PARTS.map((part) => this.key(resource, part));
    const text = (await this.redis.command('EVAL', READ, keys.length, ...keys)) as string;
    const [fields, flat] = JSON.parse(text) as [Record<string, string | Record<string, string>>, string[][]];
    const numbers: Record<string, string> = {};
    const records: Record<string, Record<string, string>> = {};
    for (const [field, value] of Object.entries(fields)) {
      if (typeof value === 'string') numbers[field] = value;
      else records[field.slice(1)] = value;
    }
    const members = (part: Part) => {
      const list = Array.from(flat[PARTS.indexOf(part) - 1] ?? []);
      return list.flatMap((id, i) => (i % 2 === 0 ? [{ id, score: Number(list[i + 1]) }] : []));
    };
    const [ends, offers, queue] = [members('ends'), members('offers'), members('queue')];
    const [detached, ended, live] = [members('detached'), members('ended'), members('live')];
    return { numbers, records, sets: { ends, offers, queue, detached, ended, live } };
  }
}
