/**
 * An example of work that only one process may do at a time. The worker holds a lock over a stream, works in steps, and
 * writes each result to a store that checks fencing tokens.
 *
 *     npm run worker -- alice
 *
 * Exit code 0: stopped by Ctrl-C, the lock is released. 1: the lock could not be acquired. 2: wrong arguments.
 * 3: the lease was lost and the work was stopped.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseOver, type HeldLease } from './held-lease';
import { Ledger, type Entry } from './ledger';
import { LockHold } from './lock-hold';
import { dieWithNpm } from './npm-parent';
import { readOptions, USAGE, UsageError, type Options } from './options';
import { Servers } from './servers';
import { stopOnSignals } from './signals';
import { causeText, riseText, spanText } from './words';

const EXIT = { released: 0, failed: 1, usage: 2, lost: 3 } as const;
const REPORT_EVERY_MS = 2000;

const print = (text: string): void => console.log(text);

/** Works in steps until a signal comes. Throws if the lease ends. A step must be short compared to the ttl. */
async function work(lease: HeldLease, ledger: Ledger, stop: AbortSignal, options: Options): Promise<void> {
  const { worker, stepMs } = options;
  const write = (note: string): void => {
    // The lease is checked again right before the write, because the step may have taken longer than planned.
    lease.check();
    const verdict = ledger.write(lease.token, worker, note);
    if (!verdict.accepted) throw new LeaseOver(refusal(lease.token, verdict.newerToken));
  };
  // The first write comes before any work. After this write the ledger refuses the writes of earlier holders.
  write('begins');
  let reportedAt = performance.now();
  for (let step = 1; !stop.aborted; step++) {
    lease.check();
    // The sleep takes the place of real work. Real work needs the same signal, so that it stops when the lease ends.
    await sleep(stepMs, undefined, { signal: lease.over }).catch(() => lease.check());
    write(`step ${step}`);
    if (performance.now() - reportedAt < REPORT_EVERY_MS) continue;
    reportedAt = performance.now();
    print(`step ${step} is in the ledger; the lease is valid for ${spanText(lease.leftMs)}`);
  }
}

function refusal(token: bigint, newerToken: bigint): string {
  return `ledger refused token ${token}: token ${newerToken} has written since`;
}

/** The time in which no worker worked: since the request, or since the last write of the previous holder. */
function grantText(askedAt: number, before: Entry | undefined, token: bigint): string {
  // A comparison of wall clocks of several processes is precise enough only for display.
  const sinceAsked = performance.now() - askedAt;
  const sinceWrite = before ? Math.max(0, Date.now() - before.time) : Infinity;
  const counted =
    before && sinceWrite < sinceAsked
      ? `${spanText(sinceWrite)} (since ${before.worker}'s last write; in the queue for ${spanText(sinceAsked)})`
      : spanText(sinceAsked);
  return `granted after ${counted}; ${riseText(before && BigInt(before.token), token)}`;
}

/** Writes after the lease has ended, to demonstrate fencing. Your own worker must not do this. */
function writeLate(lease: HeldLease, ledger: Ledger, worker: string): void {
  const verdict = ledger.write(lease.token, worker, 'late');
  print(
    verdict.accepted
      ? `ledger took the late write of token ${lease.token}: no higher token has written yet`
      : refusal(lease.token, verdict.newerToken),
  );
}

async function release(hold: LockHold, lease: HeldLease): Promise<void> {
  try {
    const { released, lossCause } = await hold.release(lease);
    print(released ? 'released' : `the lease had already ended: ${causeText(lossCause)}`);
  } catch (error) {
    print(`the release failed, so the lease expires after its ttl: ${(error as Error).message}`);
  }
}

async function run(options: Options): Promise<number> {
  const { worker, name, ttlMs } = options;
  print(
    `${worker} (pid ${process.pid}) requests the lock "${name}" with a ttl of ${spanText(ttlMs)} from ${options.servers.join(', ')}`,
  );
  print(`try: kill -9 ${process.pid}, kill -STOP ${process.pid}, kill -CONT ${process.pid}, Ctrl-C`);
  const stop = stopOnSignals(print);
  const ledger = new Ledger(options.ledger);
  const servers = new Servers(options.servers);
  // The worker connects before the measurement, so that the printed time is the time to acquire the lock.
  await servers.connect();
  const askedAt = performance.now();
  const hold = new LockHold({ servers, name, holderId: worker, ttlMs, print });
  try {
    const lease = await Promise.race([hold.granted, aborted(stop)]);
    if (lease === undefined) return EXIT.released;
    print(grantText(askedAt, ledger.last(), lease.token));
    await work(lease, ledger, stop, options).catch(async (error: unknown) => {
      if (error instanceof LeaseOver) await stopWork(error, lease, hold, ledger, worker);
      throw error;
    });
    await release(hold, lease);
    return EXIT.released;
  } catch (error) {
    if (error instanceof LeaseOver) return EXIT.lost;
    print(`${worker} failed: ${(error as Error).message}`);
    return EXIT.failed;
  } finally {
    hold.close();
    servers.close();
  }
}

/** Ends the worker after the end of its lease. The worker does no more work and requests no new lock. */
async function stopWork(
  reason: LeaseOver,
  lease: HeldLease,
  hold: LockHold,
  ledger: Ledger,
  worker: string,
): Promise<void> {
  print(`${reason.describe()}, stopping`);
  // After a passed deadline the lease may still exist in the store, so the worker releases the lease.
  if (reason.deadlineAt === undefined) return;
  writeLate(lease, ledger, worker);
  await release(hold, lease);
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

async function main(): Promise<void> {
  dieWithNpm();
  try {
    process.exitCode = await run(readOptions(process.argv.slice(2)));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\n${USAGE}`);
    process.exitCode = EXIT.usage;
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = EXIT.failed;
});
