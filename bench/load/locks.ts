/** Makes load on the locks of Holdfast and of the package redlock. ../locks/driver.ts describes the tasks. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwaitedGrant } from '../locks/contest';
import type { Contest, DriverTasks, OpenedSystem, Write } from '../locks/driver';
import { nodeSystems, type Acquire, type NodeSystemName } from '../locks/node-systems';
import { monotonicMs } from '../support/monotonic';
import { repeatedFor, type Span } from './in-flight';
import { reply, serveTasks } from './serve-tasks';

/** The locks of each client. */
const LOCKS_EACH = 100;
/** The time between two writes of a holder. */
const WORK_EVERY_MS = 5;

let acquire: Acquire = () => Promise.reject(new Error('call open first'));

/** Holds the lock until the process ends. Writes without a look at the clock, as a careless holder does. */
async function hold(name: string, lock: number): Promise<never> {
  const held = await acquire(`${name}-${lock}`);
  for (;;) {
    const write: Write = { lock, isHeld: held.isHeld(), ...(held.token && { token: String(held.token) }) };
    reply({ event: write });
    await sleep(WORK_EVERY_MS);
  }
}

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

const tasks: DriverTasks = {
  open: ({ system, address, ttlMs }: OpenedSystem) => {
    const { open, version } = nodeSystems[system as NodeSystemName];
    acquire = open(address, ttlMs);
    return Promise.resolve({ pid: process.pid, version: version() });
  },
  alone: async (span: Span) => {
    const times: number[] = [];
    await repeatedFor(span, async (index, client) => {
      const askedAt = monotonicMs();
      const held = await acquire(`alone-${process.pid}-${client}-${index % LOCKS_EACH}`);
      times.push(monotonicMs() - askedAt);
      await held.release();
    });
    return times;
  },
  contend: async ({ name, waiters, forMs, holdMs }: Contest) => {
    const grants: AwaitedGrant[] = [];
    const waiting = new Set<Promise<void>>();
    const end = monotonicMs() + forMs;
    const wait = async () => {
      const askedAt = monotonicMs();
      const held = await acquire(name);
      const grantedAt = monotonicMs();
      if (grantedAt < end) {
        start();
        await sleep(holdMs);
      }
      grants.push({ askedAt, grantedAt, releasedAt: monotonicMs() });
      await held.release();
    };
    const start = () => {
      const waiter = wait().then(() => void waiting.delete(waiter));
      waiting.add(waiter);
    };
    for (let count = 0; count < waiters; count += 1) {
      start();
      await sleep(holdMs);
    }
    while (waiting.size > 0) await Promise.all(waiting);
    return grants;
  },
  hold: ({ name, count }: { name: string; count: number }) => {
    for (let lock = 0; lock < count; lock += 1) void hold(name, lock).catch(fail);
    return Promise.resolve();
  },
};

serveTasks(tasks);
