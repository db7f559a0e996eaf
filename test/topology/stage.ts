import { credentials, status } from '@grpc/grpc-js';
import { ServerServiceClient } from '../../generated/typescript/holdfast/v1/server_service';
import { InProcessServer } from '../end-to-end/in-process-server';
import { eventually } from '../support/eventually';
import { refusal } from '../support/clients/call-ending';
import { ms } from '../support/clients/lease-client';
import type { LockClient } from '../support/clients/lock-client';

/** Of what these fixtures leave out on purpose: their Redis need not survive a power cut. */
const EXPECTED = /appendfsync is no:|min-replicas-to-write is (0:|less than)/;

/** A store of several Redis and two servers for one story. */
export async function overStore<Store extends { readonly url: string; close(): Promise<void> }>(
  starting: Promise<Store>,
  env: Readonly<Record<string, string>>,
  tell: (store: Store, stage: Stage) => Promise<void>,
): Promise<void> {
  const store = await starting;
  try {
    const stage = await Stage.open(store.url, 2, env);
    await tell(store, stage)
      .then(() => stage.close())
      .finally(() => stage.end());
  } finally {
    await store.close();
  }
}

/** Servers over one store of several Redis. */
export class Stage {
  private constructor(readonly servers: readonly InProcessServer[]) {}

  static async open(url: string, count = 2, env: Readonly<Record<string, string>> = {}): Promise<Stage> {
    const all = Array.from({ length: count }, () => InProcessServer.start(url, env));
    return new Stage(await Promise.all(all));
  }

  get one(): InProcessServer {
    return this.servers[0] as InProcessServer;
  }

  get other(): InProcessServer {
    return this.servers[1] as InProcessServer;
  }

  /** What they complained of, but for what they are bound to. */
  complaints(): string[] {
    return this.servers
      .flatMap(({ warnings }) => warnings.map(({ msg }) => String(msg)))
      .filter((text) => !EXPECTED.test(text));
  }

  /** Ends them however things stand. */
  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.drain()));
  }

  /** Ends them; each must be at rest then. */
  async close(): Promise<void> {
    for (const server of this.servers) {
      server.warnings.splice(0);
      await server.close();
    }
  }
}

export const namesOf = (stem: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${stem} ${i}`);

/** A call that is to be carried out, and tried again as long as the store is unavailable. */
export async function untilAvailable<T>(
  what: string,
  call: () => Promise<T>,
  timeoutMs = 15_000,
): Promise<T> {
  const outcome = await eventually(
    what,
    async () => {
      const ended = await call().then(
        (value) => ({ value }),
        (error: { code?: number }) => ({ error }),
      );
      if ('error' in ended && ended.error.code === status.UNAVAILABLE) throw ended.error as unknown as Error;
      return ended;
    },
    { timeoutMs },
  );
  if ('error' in outcome) throw outcome.error as unknown as Error;
  return outcome.value;
}

/** An operator's word that the replica which took over lacked nothing, once a server has seen that one did. */
export async function endQuarantine({ one }: Stage): Promise<void> {
  const client = new ServerServiceClient(one.address, credentials.createInsecure());
  try {
    await eventually('a quarantine to end', async () => {
      const { endedQuarantine } = await new Promise<{ endedQuarantine: unknown }>((resolve, reject) => {
        client.endQuarantine({ reason: 'the replica had everything' }, (error, answer) =>
          error ? reject(error) : resolve(answer),
        );
      });
      return endedQuarantine !== undefined;
    });
  } finally {
    client.close();
  }
}

/** Locks on many names, so that each node has some: granted once, refused, renewed, released. */
export async function locksWork({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.client(), other.client()];
  await Promise.all(
    namesOf(stem, 24).map(async (name) => {
      const lease = await client.acquire({ name, ttlMs: 20_000, waitMs: 0 });
      expect((await refusal(rival.acquire({ name, waitMs: 0 }))).reason).toBe('CONTENDED');
      expect(ms((await rival.renew(lease.leaseId)).expireOffset)).toBeGreaterThan(19_000);
      expect((await rival.release(lease.leaseId)).released).toBe(true);
      const next = await rival.acquire({ name, waitMs: 0 });
      expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
      await client.release(next.leaseId);
    }),
  );
}

export async function semaphoresWork({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.semaphores(), other.semaphores()];
  await Promise.all(
    namesOf(stem, 8).map(async (name) => {
      await client.setLimit(name, 3);
      const lease = await client.acquire({ name, permitCount: 2, waitMs: 0 });
      expect((await refusal(rival.acquire({ name, permitCount: 2, waitMs: 0 }))).reason).toBe('CONTENDED');
      await rival.setLimit(name, 4);
      const second = await rival.acquire({ name, permitCount: 2, waitMs: 0 });
      await client.release(second.leaseId);
      await client.release(lease.leaseId);
      await rival.delete(name);
    }),
  );
}

/**
 * Waits at one server for what is released at the other. Without hints each would be told by its next touch, up to a
 * second later, and one of so many late enough.
 */
export async function handOversAreTold({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.client(), other.client()];
  // One that comes just when a subscription is being made is not told: another round then.
  for (let round = 1; ; round += 1) {
    const names = namesOf(`${stem}, round ${round},`, 24);
    const latencies = await Promise.all(names.map((name) => handOver(client, rival, name)));
    if (Math.max(...latencies) < 700) return;
    if (round === 3) throw new Error(`hand-overs took ${latencies.map(Math.round).join(', ')} ms`);
  }
}

async function handOver(client: LockClient, rival: LockClient, name: string): Promise<number> {
  const lease = await client.acquire({ name, ttlMs: 20_000, waitMs: 0 });
  const next = rival.acquire({ name, ttlMs: 20_000, waitMs: 15_000 });
  await eventually('the waiter to be in the queue', async () => (await client.get(name)).waiterCount === 1);
  const released = performance.now();
  await client.release(lease.leaseId);
  const { leaseId } = await next;
  const took = performance.now() - released;
  await rival.release(leaseId);
  return took;
}

export async function autocompleteWorks({ one, other }: Stage, stem: string): Promise<void> {
  const [client, rival] = [one.autocomplete(), other.autocomplete()];
  const dictionaries = namesOf(stem, 6);
  await Promise.all(
    dictionaries.map(async (dictionary) => {
      await client.create(dictionary);
      const texts = namesOf('straw', 40);
      await client.put(dictionary, ...texts.map((text) => ({ entryId: text, text })));
      await client.select(dictionary, 'straw 7', 3);
      expect(await rival.texts({ dictionary, query: 'stra', pageSize: 1 })).toEqual(['straw 7']);
      await client.addRecent({ list: dictionary, text: 'lately' });
      expect(await rival.recents({ list: dictionary, query: 'la' })).toEqual(['lately']);
    }),
  );
  const listed = await client.call(client.stub.listDictionaries, {
    namePrefix: stem,
    pageSize: 100,
    pageToken: '',
  });
  expect(listed.dictionaries.map(({ name }) => name).sort()).toEqual(dictionaries.sort());
}
