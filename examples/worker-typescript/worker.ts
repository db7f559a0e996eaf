/**
 * An example of work that only one process may do at a time. The worker holds a lock in a session, works in steps, and
 * writes each result to a store that checks fencing tokens.
 *
 *     npm run worker -- alice
 *
 * Exit code 0: stopped by Ctrl-C, the lock is released. 1: the lock could not be acquired. 2: wrong arguments.
 * 3: the lease was lost and the work was stopped.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseLostError, type Lease, type QueuePlace } from '../../clients/typescript';
import { grpcWires } from '../../clients/typescript/sessions/grpc-wire';
import { SessionClient } from '../../clients/typescript/sessions/session-client';
import type { SessionNews } from '../../clients/typescript/sessions/session-news';
import { Ledger, type Entry } from './ledger';
import { dieWithNpm } from './npm-parent';
import { readOptions, USAGE, UsageError, type Options } from './options';
import { stopOnSignals } from './signals';
import { causeText, riseText, spanText } from './words';

const EXIT = { released: 0, failed: 1, usage: 2, lost: 3 } as const;
const REPORT_EVERY_MS = 2000;
const RELEASE_TIMEOUT_MS = 4000;

/** The ledger has a write of a later holder. */
class WriteRefused extends Error {}

/** The work must stop. */
type Over = LeaseLostError | WriteRefused;

const print = (text: string): void => console.log(text);

/** Works in steps until a signal comes. Throws if the lease ends. A step must be short compared to the ttl. */
async function work(lease: Lease, ledger: Ledger, stop: AbortSignal, options: Options): Promise<void> {
  const { worker, stepMs } = options;
  const write = (note: string): void => {
    // The lease is checked again right before the write, because the step may have taken longer than planned.
    lease.check();
    const verdict = ledger.write(lease.token, worker, note);
    if (!verdict.accepted) throw new WriteRefused(refusal(lease.token, verdict.newerToken));
  };
  // The first write comes before any work. After this write the ledger refuses the writes of earlier holders.
  write('begins');
  let reportedAt = performance.now();
  for (let step = 1; !stop.aborted; step++) {
    lease.check();
    // The sleep takes the place of real work. Real work needs the same signal, so that it stops when the lease ends.
    await sleep(stepMs, undefined, { signal: lease.signal }).catch(() => lease.check());
    write(`step ${step}`);
    if (performance.now() - reportedAt < REPORT_EVERY_MS) continue;
    reportedAt = performance.now();
    print(`step ${step} is in the ledger; the lease is valid for ${spanText(lease.remaining())}`);
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
function writeLate(lease: Lease, ledger: Ledger, worker: string): void {
  const verdict = ledger.write(lease.token, worker, 'late');
  print(
    verdict.accepted
      ? `ledger took the late write of token ${lease.token}: no higher token has written yet`
      : refusal(lease.token, verdict.newerToken),
  );
}

/** What the worker prints when its session breaks, moves to another server, and has the lease again. */
class SessionReport {
  lease: Lease | undefined;
  /** A break is printed once, and not for each attempt to open the next session. */
  private isBroken = false;

  readonly print = (news: SessionNews): void => {
    switch (news.kind) {
      case 'started':
        this.isBroken = false;
        return;
      case 'leaving':
        return this.printBreak('the server asks to leave');
      case 'ended':
        return this.printBreak(`stream failed (${news.error.message})`);
      case 'attached':
        return print(`attached at ${news.address}, same token ${news.lease.token}; ${this.leftText()}`);
      case 'renewalFailed':
        return print(`renewal failed; ${this.leftText()}`);
      case 'lost':
        // The work prints its end itself.
        return;
    }
  };

  private printBreak(what: string): void {
    if (this.isBroken) return;
    this.isBroken = true;
    print(
      `${what}; ${this.lease ? `attaching by lease_id; ${this.leftText()}` : 'still waiting by request_id'}`,
    );
  }

  private leftText(): string {
    return `${spanText(this.lease?.remaining() ?? 0)} left`;
  }
}

/** Safe after a loss too. The session client repeats the release until an answer comes. */
async function release(lease: Lease): Promise<void> {
  const answer = await Promise.race([lease.release(), sleep(RELEASE_TIMEOUT_MS, undefined, { ref: false })]);
  if (answer === undefined) print('the release has no answer, so the lease expires after its ttl');
  else print(answer.released ? 'released' : `the lease had already ended: ${causeText(answer.lossCause)}`);
}

async function run(options: Options): Promise<number> {
  const { worker, name, ttlMs, servers } = options;
  print(
    `${worker} (pid ${process.pid}) requests the lock "${name}" with a ttl of ${spanText(ttlMs)} from ${servers.join(', ')}`,
  );
  print(`try: kill -9 ${process.pid}, kill -STOP ${process.pid}, kill -CONT ${process.pid}, Ctrl-C`);
  const stop = stopOnSignals(print);
  const ledger = new Ledger(options.ledger);
  const report = new SessionReport();
  const session = new SessionClient({
    addresses: servers,
    openWire: grpcWires(undefined),
    holderId: worker,
    onNews: report.print,
  });
  const askedAt = performance.now();
  try {
    const lease = await session.acquire({ kind: 'lock', name, ttlMs, signal: stop, onQueued: printPlace });
    report.lease = lease;
    print(grantText(askedAt, ledger.last(), lease.token));
    await work(lease, ledger, stop, options).catch(async (error: unknown) => {
      if (isOver(error)) await stopWork(error, lease, ledger, worker);
      throw error;
    });
    await release(lease);
    return EXIT.released;
  } catch (error) {
    if (isOver(error)) return EXIT.lost;
    if (error === stop.reason) return EXIT.released;
    print(`${worker} failed: ${(error as Error).message}`);
    return EXIT.failed;
  } finally {
    await session.close(RELEASE_TIMEOUT_MS);
  }
}

function printPlace({ position, waiterCount, holder }: QueuePlace): void {
  print(`queued: place ${position} of ${waiterCount}${holder ? `, behind ${holder.holderId}` : ''}`);
}

/** Ends the worker after the end of its lease. The worker does no more work and requests no new lock. */
async function stopWork(reason: Over, lease: Lease, ledger: Ledger, worker: string): Promise<void> {
  const isDeadline = reason instanceof LeaseLostError && reason.lossCause === 'DEADLINE';
  const lostText = reason instanceof LeaseLostError ? `lease lost: ${reason.lossCause}` : reason.message;
  print(`${isDeadline ? deadlineText(lease) : lostText}, stopping`);
  // After a passed deadline the lease may still exist in the store, so the worker releases the lease.
  if (!isDeadline) return;
  writeLate(lease, ledger, worker);
  await release(lease);
}

function deadlineText(lease: Lease): string {
  return `deadline passed ${spanText(performance.now() - lease.deadline)} ago`;
}

function isOver(error: unknown): error is Over {
  return error instanceof LeaseLostError || error instanceof WriteRefused;
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
