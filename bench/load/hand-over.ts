/**
 * A constant number of waiters on a lock. A client that gets the lock joins the queue again before the release. In
 * between, the client may acquire a free lock of its own as the yardstick.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../support/monotonic';
import { LockClient } from '../../test/support/clients/lease-client';
import type { Grant } from '../support/statistics';
import { releaseHeld } from './release-held';
import { serveTasks } from './serve-tasks';

const TTL_MS = 120_000;
const WAIT_MS = 600_000;

export interface Pace {
  /** The pause before a release, so that the machine is idle when the release is sent. */
  readonly pauseMs: number;
  /** Whether clients also acquire and release a free lock. */
  readonly yardstick: boolean;
}

let clients: LockClient[] = [];
let name = '';
let label = '';
let pace: Pace = { pauseMs: 0, yardstick: false };
let stopping = false;
let grants: Grant[] = [];
let uncontended: number[] = [];
let count = 0;
const waiters = new Set<Promise<void>>();

async function measureUncontended(client: LockClient): Promise<void> {
  const sentAt = monotonicMs();
  const lease = await client.acquire({ name: `${label}-free`, ttlMs: TTL_MS, waitMs: 0 });
  uncontended.push(monotonicMs() - sentAt);
  await sleep(pace.pauseMs);
  await releaseHeld(client, lease.leaseId);
  await sleep(pace.pauseMs);
}

/** Waits for a grant, queues again, and releases. */
async function wait(client: LockClient): Promise<void> {
  const lease = await client.acquire({ name, ttlMs: TTL_MS, waitMs: WAIT_MS });
  const grantedAt = monotonicMs();
  count += 1;
  if (!stopping) {
    startWaiter(client);
    if (pace.pauseMs > 0) await sleep(pace.pauseMs);
    if (pace.yardstick) await measureUncontended(client);
  }
  grants.push({ grantedAt, releasedAt: monotonicMs() });
  await releaseHeld(client, lease.leaseId);
}

function startWaiter(client: LockClient): void {
  const waiter = wait(client).then(() => void waiters.delete(waiter));
  waiters.add(waiter);
}

const tasks = {
  connect: async (to: { address: string; label: string; connections: number }) => {
    label = to.label;
    clients = Array.from({ length: to.connections }, () => new LockClient(to.address));
    await Promise.all(clients.map((client) => client.get(label)));
  },
  /** Starts the waiters. Resolves when their calls are sent. */
  join: async (queue: { name: string; waiters: number }) => {
    name = queue.name;
    stopping = false;
    for (let index = 0; index < queue.waiters; index += 1) {
      const client = clients[index % clients.length];
      if (client === undefined) throw new Error('call connect first');
      startWaiter(client);
    }
    await Promise.resolve();
  },
  pace: async (wanted: Pace) => {
    pace = wanted;
    await Promise.resolve();
  },
  count: () => Promise.resolve(count),
  /** The records since the last call of `take`. */
  take: async () => {
    const taken = { grants, uncontended };
    grants = [];
    uncontended = [];
    return Promise.resolve(taken);
  },
  /** Ends the load. Each waiter releases its grant immediately, and does not join the queue again. */
  leave: async () => {
    stopping = true;
    while (waiters.size > 0) await Promise.all(waiters);
  },
};

export type HandOverTasks = typeof tasks;

serveTasks(tasks);
