/** Makes load on Holdfast and on the package redlock. ../driver.ts describes the arguments and the lines. */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../support/monotonic';
import type { Grant } from '../driver';
import { nodeSystems, type Acquire, type NodeSystemName } from './systems';

/** The locks of each client. */
const LOCKS_EACH = 100;
/** The time between two writes of a holder. */
const WORK_EVERY_MS = 5;

async function alone(acquire: Acquire, clients: number, forMs: number): Promise<string[]> {
  const times: string[] = [];
  const end = monotonicMs() + forMs;
  const client = async (index: number) => {
    for (let turn = 0; monotonicMs() < end; turn += 1) {
      const name = `alone-${process.pid}-${index}-${turn % LOCKS_EACH}`;
      const askedAt = monotonicMs();
      const held = await acquire(name);
      times.push((monotonicMs() - askedAt).toFixed(4));
      await held.release();
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  return times;
}

/** A new waiter takes the place of a holder before the holder releases. */
async function contend(
  acquire: Acquire,
  name: string,
  waiters: number,
  forMs: number,
  holdMs: number,
): Promise<string[]> {
  const grants: Grant[] = [];
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
  return grants.map(({ askedAt, grantedAt, releasedAt }) =>
    [askedAt, grantedAt, releasedAt].map((at) => at.toFixed(4)).join(','),
  );
}

/** Holds the lock until the process ends. Writes without a look at the clock, as a careless holder does. */
async function hold(acquire: Acquire, name: string, lock: number): Promise<never> {
  const held = await acquire(`${name}-${lock}`);
  for (;;) {
    console.log(`write ${lock} ${held.isHeld()} ${held.token ?? '-'}`);
    await sleep(WORK_EVERY_MS);
  }
}

async function obey(acquire: Acquire, [command, ...words]: string[]): Promise<void> {
  const numbers = words.map(Number);
  const [first = NaN, second = NaN, third = NaN, fourth = NaN] = numbers;
  const name = words[0] ?? '';
  if (command === 'alone') console.log(['done', ...(await alone(acquire, first, second))].join(' '));
  if (command === 'contend') {
    console.log(['done', ...(await contend(acquire, name, second, third, fourth))].join(' '));
  }
  if (command === 'hold') {
    await Promise.all(Array.from({ length: second }, (_, lock) => hold(acquire, name, lock)));
  }
}

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

const [system, address = '', ttlMs] = process.argv.slice(2);
const { open, version } = nodeSystems[system as NodeSystemName];
const acquire = open(address, Number(ttlMs));
console.log(`ready ${process.pid} ${version()}`);
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void obey(acquire, line.split(' ')).catch(fail));
lines.on('close', () => process.exit());
