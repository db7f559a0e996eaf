/**
 * Many clients that repeatedly acquire, hold and release one lock: through the server, where they wait in the queue, or
 * directly on Redis as in the chapter, where each client polls every millisecond.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../../test/support/clients/lock-client';
import { releaseHeld } from './release-held';
import { RespClient } from './resp-client';
import { serveTasks } from './serve-tasks';

const TTL_MS = 30_000;
const WAIT_MS = 600_000;
const POLL_MS = 1;
/** The server allows 500 waiting unary calls on a connection. */
const CLIENTS_PER_CONNECTION = 250;

const COMPARE_AND_DELETE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

interface Contest {
  readonly name: string;
  readonly clients: number;
  readonly holdMs: number;
}

let grants = 0;
let stopping = false;
let contestants: Promise<void>[] = [];

/** Holds the lock, releases it, and counts the grant. */
async function hold(holdMs: number, release: () => Promise<void>): Promise<void> {
  if (!stopping) await sleep(holdMs);
  await release();
  grants += 1;
}

async function queue(client: LockClient, { name, holdMs }: Contest): Promise<void> {
  while (!stopping) {
    const { leaseId } = await client.acquire({ name, ttlMs: TTL_MS, waitMs: WAIT_MS });
    await hold(holdMs, () => releaseHeld(client, leaseId));
  }
}

async function poll(client: RespClient, { name, holdMs }: Contest): Promise<void> {
  while (!stopping) {
    const identifier = randomUUID();
    while ((await client.command('SET', name, identifier, 'NX', 'PX', String(TTL_MS))) !== '+OK') {
      if (stopping) return;
      await sleep(POLL_MS);
    }
    await hold(holdMs, async () => {
      const deleted = await client.command('EVAL', COMPARE_AND_DELETE, '1', name, identifier);
      if (deleted !== ':1') throw new Error('a lock was lost: the machine is too busy for this benchmark');
    });
  }
}

const tasks = {
  queue: async ({ address, ...contest }: Contest & { address: string }) => {
    stopping = false;
    const connections = Math.ceil(contest.clients / CLIENTS_PER_CONNECTION);
    const clients = Array.from({ length: connections }, () => new LockClient(address));
    await Promise.all(clients.map((client) => client.get(contest.name)));
    contestants = Array.from({ length: contest.clients }, (_, index) =>
      queue(clients[index % connections] as LockClient, contest),
    );
    void Promise.all(contestants).then(() => clients.forEach((client) => client.close()));
  },
  poll: async ({ port, ...contest }: Contest & { port: number }) => {
    stopping = false;
    const clients: RespClient[] = [];
    for (let index = 0; index < contest.clients; index += 1) clients.push(await RespClient.connect(port));
    contestants = clients.map((client) => poll(client, contest));
    void Promise.all(contestants).then(() => clients.forEach((client) => client.close()));
  },
  grants: () => Promise.resolve(grants),
  stop: async () => {
    stopping = true;
    await Promise.all(contestants);
  },
};

export type ContentionTasks = typeof tasks;

serveTasks(tasks);
