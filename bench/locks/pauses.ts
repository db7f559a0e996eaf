import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually';
import type { LoadProcess } from '../support/load-process';
import type { DriverTasks, Write } from './driver';

/** Longer than two ticks of ZooKeeper, and at least etcd's shortest TTL. */
export const PAUSED_TTL_MS = 2000;
export const PAUSED_LOCKS = 10;
const GRANT_TIMEOUT_MS = 30_000;
/** For the first writes of a process that continues. */
const WRITE_MS = 500;

/** The writes of paused holders that came after the first write of the next holder, one for each lock. */
export interface LateWrites {
  /** The holder does not check, and neither does what the lock protects. */
  readonly unchecked: number;
  /** The holder writes only if its library says that the lock is still held. */
  readonly holderChecks: number;
  /** What the lock protects refuses a token that is older than the last. */
  readonly tokenChecked: number;
}

export function judge(late: ReadonlyMap<number, Write>, next: ReadonlyMap<number, Write>): LateWrites {
  const writes = [...late.values()];
  const isRefused = ({ lock, token }: Write) => {
    const newest = next.get(lock)?.token;
    return token !== undefined && newest !== undefined && BigInt(token) < BigInt(newest);
  };
  return {
    unchecked: writes.length,
    holderChecks: writes.filter(({ isHeld }) => isHeld).length,
    tokenChecked: writes.filter((write) => !isRefused(write)).length,
  };
}

/** Keeps the first write of each lock. */
function firstWrites() {
  const writes = new Map<number, Write>();
  const record = (write: Write) => void (writes.has(write.lock) || writes.set(write.lock, write));
  return { writes, record };
}

/** A load program, whose process may have another number than the process of its launcher. */
export interface Driver {
  readonly process: LoadProcess<DriverTasks>;
  readonly pid: number;
}

/** Stops the first process while it holds locks, until the second process has been granted all of them. */
export async function pauseHolder(holder: Driver, waiter: Driver, name: string): Promise<LateWrites> {
  const early = firstWrites();
  const late = firstWrites();
  const next = firstWrites();
  let isContinued = false;
  const granted = (what: string, { writes }: typeof next) =>
    eventually(what, () => writes.size === PAUSED_LOCKS, { timeoutMs: GRANT_TIMEOUT_MS });
  const locks = { name, count: PAUSED_LOCKS };
  holder.process.listen<Write>((write) => (isContinued ? late : early).record(write));
  await holder.process.ask('hold', locks);
  await granted('the grants of the first holder', early);
  process.kill(holder.pid, 'SIGSTOP');
  waiter.process.listen<Write>(next.record);
  await waiter.process.ask('hold', locks);
  await granted('the grants of the next holder', next);
  isContinued = true;
  process.kill(holder.pid, 'SIGCONT');
  await sleep(WRITE_MS);
  return judge(late.writes, next.writes);
}
