import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../../src/leases/lease';
import { Recorder, type EventSink } from '../support/history-recorder';
import { seeded } from '../support/random';
import { CallEnded, type Held } from './held';
import type { EitherWanted } from '../support/clients/lease-client';
import { acquireWithRetries, retryElsewhere } from './retries';
import { RecordedClient } from './recorded-client';

/** Many clients in one process that request the same resource for a limited time. */
export interface LoadTask {
  readonly call: 'load';
  /** The prefix of the clients' names. */
  readonly client: string;
  readonly clientCount: number;
  /** The servers. Each client starts at one of the servers and moves to the next server after a failure. */
  readonly addresses: readonly string[];
  readonly service: Service;
  readonly name: string;
  readonly mostPermits: number;
  /** For locks: the percentage of shared requests. */
  readonly sharedPercent: number;
  readonly seed: number;
  readonly forMs: number;
}

export function clientsOf({ client, clientCount }: LoadTask): string[] {
  return Array.from({ length: clientCount }, (_, index) => `${client}.${index}`);
}

/** The reasons for which a request may end without a lease. */
const REFUSALS = new Set(['CONTENDED', 'NEVER_FITS', 'REQUEST_FINISHED', 'NO_SUCH_SEMAPHORE']);
const LONGEST_WAIT_MS = 30_000;
const TTL_MS = [300, 900] as const;
const WORK_MS = [5, 60] as const;
const WAIT_MS = [0, 1500] as const;

/** Resolves when the time is over and every client has finished its last request. */
export async function runLoad(task: LoadTask, sink: EventSink): Promise<void> {
  const until = performance.now() + task.forMs;
  const clients = clientsOf(task).map((name, index) => new LoadClient(name, index, task, sink));
  await Promise.all(clients.map((client) => client.run(until)));
}

class LoadClient {
  private readonly random: () => number;
  private readonly client: RecordedClient;
  private readonly fallback: { readonly address: string };

  constructor(
    name: string,
    index: number,
    private readonly task: LoadTask,
    sink: EventSink,
  ) {
    const { addresses, seed, service } = task;
    const address = (step: number): string => addresses[(index + step) % addresses.length] ?? '';
    this.random = seeded(seed * 1000 + index);
    this.client = new RecordedClient(name, address(0), new Recorder(name, sink), service);
    this.fallback = { address: address(1) };
  }

  async run(until: number): Promise<void> {
    while (performance.now() < until) {
      await this.once(until).catch((error: unknown) => {
        const { reason = '', code } = error instanceof CallEnded ? error.ending : { code: undefined };
        if (!REFUSALS.has(reason) && code !== 'CANCELLED') throw error;
        return sleep(this.between(WORK_MS));
      });
    }
    this.client.close();
  }

  private async once(until: number): Promise<void> {
    const { task, client, fallback } = this;
    const asking: EitherWanted & { requestId: string } = {
      name: task.name,
      requestId: randomUUID(),
      ttlMs: this.between(TTL_MS),
      // A short wait, or until the load ends.
      waitMs: this.happens(40) ? this.between(WAIT_MS) : Math.max(0, Math.ceil(until - performance.now())),
      permits: task.service === 'lock' ? 1 : 1 + Math.floor(this.random() ** 2 * task.mostPermits),
      mode: task.service === 'lock' && this.happens(task.sharedPercent) ? 'shared' : 'exclusive',
    };
    if (this.happens(10)) return this.cancelSoon(asking);
    if (this.happens(50)) {
      await this.use(await acquireWithRetries(client, asking, fallback));
      return;
    }
    const { stream, held } = await retryElsewhere(client, fallback, async () => {
      const opened = client.hold(asking);
      return { stream: opened, held: await opened.granted(LONGEST_WAIT_MS) };
    });
    if (!(await this.use(held))) stream.cancel();
    await stream.ended;
  }

  /** Cancels the request after a short time. A lease that was granted before the cancellation expires. */
  private async cancelSoon(asking: EitherWanted): Promise<void> {
    const stream = this.client.hold(asking);
    await sleep(this.between(WORK_MS));
    stream.cancel();
    await stream.ended;
  }

  /** Works, and releases the lease or lets it expire. Returns false if the lease is left to expire. */
  private async use(held: Held): Promise<boolean> {
    const { client, fallback } = this;
    await sleep(this.between(WORK_MS));
    if (this.happens(3)) return false;
    if (this.happens(20)) {
      const renewed = await retryElsewhere(client, fallback, () => client.renew(held)).catch(notHeldAnyMore);
      if (renewed === undefined) return false;
      await sleep(this.between(WORK_MS));
    }
    await retryElsewhere(client, fallback, () => client.release(held));
    return true;
  }

  private between([least, most]: readonly [number, number]): number {
    return least + Math.floor(this.random() * (most - least));
  }

  private happens(percent: number): boolean {
    return this.random() * 100 < percent;
  }
}

function notHeldAnyMore(error: unknown): undefined {
  if (!(error instanceof CallEnded) || error.ending.reason !== 'LEASE_NOT_HELD') throw error;
}
