/**
 * A worker that must not run twice at a time: it holds a lock over a stream, works in steps, and writes each
 * result to a store that checks fencing tokens.
 *
 *     npm run worker -- alice
 *
 * Exit code 0: stopped by Ctrl-C, the lock given back. 1: the lock could not be had. 2: wrong arguments. 3: the
 * lease was lost, and the work was stopped.
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

const say = (text: string): void => console.log(text);

/** Steps until a signal comes or the lease is over; the latter throws. Each step is short beside the ttl. */
async function work(lease: HeldLease, ledger: Ledger, stop: AbortSignal, options: Options): Promise<void> {
  const { worker, stepMs } = options;
  const write = (note: string): void => {
    // Right before the write: the step may have taken longer than anybody thought.
    lease.check();
    const verdict = ledger.write(lease.token, worker, note);
    if (!verdict.accepted) throw new LeaseOver(refusal(lease.token, verdict.newerToken));
  };
  // Written before any work: from here on the ledger refuses whoever held the lock before.
  write('begins');
  let reportedAt = performance.now();
  for (let step = 1; !stop.aborted; step++) {
    lease.check();
    // This is where the work would be, given the same signal: it ends at once when the lease is over.
    await sleep(stepMs, undefined, { signal: lease.over }).catch(() => lease.check());
    write(`step ${step}`);
    if (performance.now() - reportedAt < REPORT_EVERY_MS) continue;
    reportedAt = performance.now();
    say(`step ${step} is in the ledger; lease good for ${spanText(lease.leftMs)}`);
  }
}

function refusal(token: bigint, newerToken: bigint): string {
  return `ledger refused token ${token}: token ${newerToken} has written since`;
}

/** Since when nobody was at work: since we asked, or since the last write of whoever was before us. */
function grantText(askedAt: number, before: Entry | undefined, token: bigint): string {
  // Wall clocks of several processes: good enough to be read by people, and for nothing else.
  const sinceAsked = performance.now() - askedAt;
  const sinceWrite = before ? Math.max(0, Date.now() - before.time) : Infinity;
  const counted =
    before && sinceWrite < sinceAsked
      ? `${spanText(sinceWrite)} (since ${before.worker}'s last write; in the queue for ${spanText(sinceAsked)})`
      : spanText(sinceAsked);
  return `granted after ${counted}; ${riseText(before && BigInt(before.token), token)}`;
}

/** On purpose, to show what fencing is for. A worker of your own just stops. */
function writeLate(lease: HeldLease, ledger: Ledger, worker: string): void {
  const verdict = ledger.write(lease.token, worker, 'late');
  say(
    verdict.accepted
      ? `ledger took the late write of token ${lease.token}: nobody with a higher one has written yet`
      : refusal(lease.token, verdict.newerToken),
  );
}

async function giveBack(hold: LockHold, lease: HeldLease): Promise<void> {
  try {
    const { released, lossCause } = await hold.release(lease);
    say(released ? 'released' : `the lease had ended already: ${causeText(lossCause)}`);
  } catch (error) {
    say(`not released, so it ends by itself: ${(error as Error).message}`);
  }
}

async function run(options: Options): Promise<number> {
  const { worker, name, ttlMs } = options;
  say(
    `${worker} (pid ${process.pid}) wants "${name}" for ${spanText(ttlMs)} at a time, from ${options.servers.join(', ')}`,
  );
  say(
    `to see what happens: kill -9 ${process.pid}, kill -STOP ${process.pid}, kill -CONT ${process.pid}, Ctrl-C`,
  );
  const stop = stopOnSignals(say);
  const ledger = new Ledger(options.ledger);
  const servers = new Servers(options.servers);
  // Connected first, so that what is measured is the lock.
  await servers.connect();
  const askedAt = performance.now();
  const hold = new LockHold({ servers, name, holderId: worker, ttlMs, say });
  try {
    const lease = await Promise.race([hold.granted, aborted(stop)]);
    if (lease === undefined) return EXIT.released;
    say(grantText(askedAt, ledger.last(), lease.token));
    await work(lease, ledger, stop, options).catch(async (error: unknown) => {
      if (error instanceof LeaseOver) await stopped(error, lease, hold, ledger, worker);
      throw error;
    });
    await giveBack(hold, lease);
    return EXIT.released;
  } catch (error) {
    if (error instanceof LeaseOver) return EXIT.lost;
    say(`${worker} failed: ${(error as Error).message}`);
    return EXIT.failed;
  } finally {
    hold.close();
    servers.close();
  }
}

/** The lease is over: nothing is written any more, and nothing asked for anew. */
async function stopped(
  reason: LeaseOver,
  lease: HeldLease,
  hold: LockHold,
  ledger: Ledger,
  worker: string,
): Promise<void> {
  say(`${reason.describe()}, stopping`);
  // Only our own clock has spoken: the server may keep the lease for us yet.
  if (reason.deadlineAt === undefined) return;
  writeLate(lease, ledger, worker);
  await giveBack(hold, lease);
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
