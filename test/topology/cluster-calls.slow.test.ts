import { credentials } from '@grpc/grpc-js';
import {
  ServerServiceClient,
  StoreState,
  type GetServerInfoResponse,
} from '../../generated/typescript/holdfast/v1/server_service';
import { bucketOf, slotOfBucket } from '../../src/redis/keys';
import { eventually } from '../support/eventually';
import { refusal } from '../support/clients/call-ending';
import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import type { RedisProcess } from '../support/processes/redis-process';
import {
  autocompleteWorks,
  handOversAreTold,
  locksWork,
  namesOf,
  semaphoresWork,
  Stage,
  untilAvailable,
} from './stage';

async function serverInfo(address: string): Promise<GetServerInfoResponse> {
  const client = new ServerServiceClient(address, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.getServerInfo({}, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  } finally {
    client.close();
  }
}

/** How many scripts a Redis has run, and how often it has read from a connection. */
async function traffic(redis: RedisProcess): Promise<{ scripts: number; reads: number }> {
  const info = String(await redis.command('INFO', 'everything'));
  const [, scripts] = /^cmdstat_evalsha:calls=(\d+)/m.exec(info) ?? [];
  const [, reads] = /^total_reads_processed:(\d+)/m.exec(info) ?? [];
  return { scripts: Number(scripts), reads: Number(reads) };
}

const slotOf = (name: string) => slotOfBucket(bucketOf(name));

describe('over a Redis Cluster', () => {
  let cluster: RedisClusterProcesses;
  let stage: Stage;
  beforeAll(async () => {
    cluster = await RedisClusterProcesses.start();
    stage = await Stage.open(cluster.url, 2, { HOLDFAST_COMMAND_TIMEOUT: '1s' });
  }, 60_000);
  afterAll(async () => {
    await stage?.close();
    await cluster?.close();
  });

  it('locks and semaphores work on names of all nodes', async () => {
    await Promise.all([locksWork(stage, 'lock'), semaphoresWork(stage, 'semaphore')]);
    for (const { redis } of cluster.nodes) expect(Number(await redis.command('DBSIZE'))).toBeGreaterThan(0);
    expect(stage.complaints()).toEqual([]);
  });

  it('a waiter at one server hears of a release at another, whichever node has the name', async () => {
    await handOversAreTold(stage, 'hand-over');
  });

  it('dictionaries and recents work on names of all nodes', async () => {
    await autocompleteWorks(stage, 'dictionary');
  });

  it('a slot that moves is not noticed by who uses its names after it', async () => {
    const name = 'moves';
    const client = stage.one.client();
    const lease = await client.acquire({ name, ttlMs: 20_000, waitMs: 0 });
    const source = await cluster.masterOf(slotOf(name));
    const target = cluster.nodes.find((node) => node !== source)!;
    await cluster.moveSlot(slotOf(name), target);
    expect((await refusal(stage.other.client().acquire({ name, waitMs: 0 }))).reason).toBe('CONTENDED');
    expect((await client.renew(lease.leaseId)).fencingToken).toBe(lease.fencingToken);
    // Nothing was lost on the way, so nothing need be waited for.
    await client.release(lease.leaseId);
    const next = await stage.other.client().acquire({ name, waitMs: 0 });
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    // Who waits there is told as before.
    await client.release(next.leaseId);
    await eventually('subscriptions at the new node', async () => {
      const channels = (await target.redis.command('PUBSUB', 'SHARDCHANNELS')) as string[];
      return channels.filter((channel) => channel.startsWith(`holdfast:{${bucketOf(name)}}:`)).length === 2;
    });
    expect(stage.complaints()).toEqual([]);
  });

  it('while a slot is on its way its names are unavailable and nothing is half done', async () => {
    const client = stage.one.client();
    const [name, stranger] = sameSlot('wanderer', 2) as [string, string];
    const lease = await client.acquire({ name, ttlMs: 30_000, waitMs: 0, metadata: { a: 'b' } });
    const source = await cluster.masterOf(slotOf(name));
    const target = cluster.nodes.find((node) => node !== source)!;
    await cluster.moveSlot(slotOf(name), target, async () => {
      // One of its keys is at the one node and the others at the other.
      const calls = [
        ...[name, stranger].map((asked) => client.acquire({ name: asked, waitMs: 0 })),
        client.renew(lease.leaseId),
        client.release(lease.leaseId),
      ];
      const endings = Promise.all(calls.map(refusal));
      // Other names of the same nodes do not mind.
      await locksWork(stage, 'meanwhile');
      for (const ending of await endings) {
        expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' });
      }
    });
    expect(await client.get(name)).toMatchObject({ holderCount: 1 });
    expect((await client.release(lease.leaseId)).released).toBe(true);
  });

  it('a list of recents is read and written while its slot is on its way', async () => {
    const client = stage.one.autocomplete();
    const list = 'travelling';
    await client.addRecent({ list, text: 'first' });
    const source = await cluster.masterOf(slotOf(list));
    const target = cluster.nodes.find((node) => node !== source)!;
    await cluster.moveSlot(slotOf(list), target, async () => {
      expect(await client.recents({ list, query: '' })).toEqual(['first']);
    });
    expect(await client.recents({ list, query: '' })).toEqual(['first']);
  });

  it('renewals of many leases leave in few writes to each node', async () => {
    const client = stage.one.client();
    const streams = namesOf('together', 150).map((name) => client.hold({ name, ttlMs: 3000 }));
    await Promise.all(streams.map((stream) => stream.until('renewed')));
    const before = await Promise.all(cluster.nodes.map(({ redis }) => traffic(redis)));
    await Promise.all(streams.map((stream) => stream.until('renewed')));
    for (const [i, { redis }] of cluster.nodes.entries()) {
      const { scripts, reads } = await traffic(redis);
      expect(scripts - before[i]!.scripts).toBeGreaterThan(20);
      expect(reads - before[i]!.reads).toBeLessThan((scripts - before[i]!.scripts) / 2);
    }
    for (const stream of streams) stream.cancel();
  });

  it('a node that is stopped leaves the names of the others alone, and the server says which one it is', async () => {
    const names = namesOf('alone', 12);
    const masters = await Promise.all(names.map((name) => cluster.masterOf(slotOf(name))));
    const down = masters[0]!;
    await down.redis.stop();
    const client = stage.one.client();
    try {
      const others = names.filter((_, i) => masters[i] !== down);
      await eventually('the server to name the node', async () => {
        const { storeState, storeWarnings } = await serverInfo(stage.one.address);
        expect(storeState).toBe(StoreState.STORE_STATE_READY);
        return storeWarnings.some((text) => text.includes(`${down.address} of the store does not answer`));
      });
      const started = performance.now();
      await Promise.all(
        others.map(async (name) => client.release((await client.acquire({ name, waitMs: 0 })).leaseId)),
      );
      expect(performance.now() - started).toBeLessThan(900);
      const ending = await refusal(client.acquire({ name: names[0]!, waitMs: 0 }));
      expect(ending.code).toBe('UNAVAILABLE');
    } finally {
      await down.redis.cont();
    }
    await untilAvailable('the node to be back', () => client.get(names[0]!));
    await eventually('the server to be content', async () => {
      const { storeWarnings } = await serverInfo(stage.one.address);
      return !storeWarnings.some((text) => text.includes('does not answer'));
    });
  });

  /** Names that share a bucket. */
  function sameSlot(stem: string, count: number): string[] {
    const all = namesOf(stem, 20_000);
    const bucket = bucketOf(all[0]!);
    return all.filter((name) => bucketOf(name) === bucket).slice(0, count);
  }
});
