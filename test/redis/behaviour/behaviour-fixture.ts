import type { Resource, Service } from '../../../src/leases/lease';

import { eventually } from '../../support/eventually';
import { Requester, type RequesterOptions } from '../../support/leases/lease-requester';
import type { RedisProcess } from '../../support/processes/redis-process';
import { is } from '../../support/reply-kinds';
import { connectTestStore, type Store } from '../../support/test-store';

/** A started store of one topology, for the behaviour suite. */
export interface Topology {
  /** A value for HOLDFAST_REDIS_URL. */
  readonly url: string;
  /** All masters. Each must hold keys of the suite's names, if there are several. */
  readonly masters: readonly RedisProcess[];
  close(): Promise<void>;
}

/** The number of names of each behaviour, which is enough for every node of a Cluster to serve some of the names. */
const NAME_COUNT = 6;
const WAIT = { timeoutMs: 60_000 };

/** One server's store, with the hints that it received. */
export interface StoreServer {
  readonly id: string;
  readonly permits: Store['permits'];
  readonly store: Store;
  /** Request ids of `recheck` hints, from replies and from other servers. */
  readonly hints: string[];
  /** The names that watches must read again. */
  readonly changed: string[];
}

/** Two servers over one store, which the suite uses through the ports only. */
export class BehaviourFixture {
  private names = 0;

  private constructor(
    private readonly topology: Topology,
    readonly one: StoreServer,
    readonly other: StoreServer,
  ) {}

  static async open(topology: Topology): Promise<BehaviourFixture> {
    // The servers start one after the other, because only the first server may find a store without epochs.
    const one = await openServer(topology.url, 's1');
    try {
      return new BehaviourFixture(topology, one, await openServer(topology.url, 's2'));
    } catch (error) {
      one.store.close();
      throw error;
    }
  }

  /** A name that no other test uses. */
  name(): string {
    this.names += 1;
    return `name ${this.names}`;
  }

  /** Runs a behaviour on several names at the same time. */
  async everywhere(service: Service, behaviour: (resource: Resource) => Promise<void>): Promise<void> {
    const resources = Array.from({ length: NAME_COUNT }, () => ({ service, name: this.name() }));
    await Promise.all(resources.map(behaviour));
  }

  request({ id, permits }: StoreServer, resource: Resource, options?: RequesterOptions): Requester {
    return new Requester({ id, store: permits }, resource, options);
  }

  /** A lock's holder at the first server, and waiters at the other server, in the order of the queue. */
  async queued(resource: Resource, count: number, options?: RequesterOptions) {
    const holder = this.request(this.one, resource, options);
    is('granted', await holder.try());
    const waiters: Requester[] = [];
    for (let place = 1; place <= count; place += 1) {
      const waiter = this.request(this.other, resource, options);
      is('waiting', await waiter.queue());
      waiters.push(waiter);
    }
    return { holder, waiters };
  }

  /** Waits for an offer to the waiter. The waiter's server touches the resource meanwhile, as an engine does. */
  async offered(waiter: Requester): Promise<void> {
    await eventually('an offer', async () => (await waiter.touch()).waiters[0] === 'recheck', WAIT);
  }

  async hinted(server: StoreServer, { requestId }: Requester): Promise<void> {
    await eventually('a hint', () => server.hints.includes(requestId), WAIT);
  }

  /** Empties all masters. */
  async flush(): Promise<void> {
    await Promise.all(this.topology.masters.map((redis) => redis.command('FLUSHALL')));
  }

  /** Ends the quarantine at both servers, and waits until both grant a lock on each of these names. */
  async endQuarantine(resources: readonly Resource[]): Promise<void> {
    for (const server of [this.one, this.other]) {
      for (const resource of resources) {
        await eventually(
          'a grant after the quarantine',
          async () => {
            await server.store.node.endQuarantine();
            const request = this.request(server, resource);
            is('granted', await request.try());
            return (await request.release(request.secret)).kind === 'released';
          },
          WAIT,
        );
      }
    }
  }

  async close(): Promise<void> {
    this.one.store.close();
    this.other.store.close();
    await this.topology.close();
  }
}

async function openServer(url: string, id: string): Promise<StoreServer> {
  const store = await connectTestStore(url, { serverId: id, commandTimeoutMs: 10_000 });
  const hints: string[] = [];
  const changed: string[] = [];
  store.permits.listen({
    recheck: (_resource, requestId) => void hints.push(requestId),
    granted: () => undefined,
    changed: ({ name }) => void changed.push(name),
    mayHaveMissedNews: () => undefined,
    workLeft: () => undefined,
  });
  return { id, store, permits: store.permits, hints, changed };
}
