import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError, type Lease, UnavailableError } from '../../../clients/typescript';
import { EARLY_ENDS } from '../../../clients/typescript/sessions/loss-causes';
import { COMMAND_VARIABLES } from '../../server/config/variables';
import { problemText, quoted, spanText } from '../output';
import { EXIT, type Terminal, timeOfDayMs, UsageError } from '../terminal';
import { GuardedCommand } from './guarded-command';
import { endText, sharedDeadline, sharedNow } from './processes';
import type { Ended } from './protocol';

/** The longest sleep: a timer of Node fires at once above 2^31-1 ms, and does not count the time of a suspended machine. */
const LONGEST_SLEEP_MS = 60_000;

/** The bound of --max-hold. */
export class HoldBound {
  hasPassed = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param maxHoldMs undefined: no bound. */
  constructor(
    maxHoldMs: number | undefined,
    private readonly onPassed: () => void,
    private readonly now: () => number = sharedNow,
  ) {
    if (maxHoldMs !== undefined) this.check(now() + maxHoldMs);
  }

  clear(): void {
    clearTimeout(this.timer);
  }

  private check(end: number): void {
    const left = end - this.now();
    if (left > 0) {
      this.timer = setTimeout(() => this.check(end), Math.min(left, LONGEST_SLEEP_MS));
      return;
    }
    this.hasPassed = true;
    this.onPassed();
  }
}

/** The shortest ttl with which a watchdog on a busy machine still ends a command in time. */
export const LEAST_TTL_MS = 2000;
const LEAST_MARGIN_MS = 250;
const LARGEST_MARGIN_MS = 2000;

interface RunLimits {
  readonly graceMs: number;
  readonly marginMs: number;
}

/**
 * When a command gets its signals before the deadline. A renewal comes about every third of the ttl, so SIGTERM in the last
 * half of the ttl means that a renewal is late.
 */
export function runLimits(ttlMs: number, graceMs = ttlMs / 4): RunLimits {
  if (ttlMs < LEAST_TTL_MS)
    throw new UsageError(`--ttl must be at least ${spanText(LEAST_TTL_MS)} to run a command`);
  const marginMs = Math.min(LARGEST_MARGIN_MS, Math.max(LEAST_MARGIN_MS, ttlMs / 10));
  const largest = ttlMs / 2 - marginMs;
  if (graceMs > largest) {
    throw new UsageError(
      `--grace must be at most ${spanText(largest)} with a ttl of ${spanText(ttlMs)}: use a longer --ttl`,
    );
  }
  return { graceMs, marginMs };
}

export interface GuardedRun {
  readonly command: readonly [program: string, ...args: string[]];
  readonly ttlMs: number;
  /** The command gets SIGTERM after this time. Undefined: no bound. */
  readonly maxHoldMs: number | undefined;
  readonly limits: RunLimits;
  /** Waits for the lease. */
  acquire(signal: AbortSignal): Promise<Lease>;
  /** What keeps the servers from a renewal at this moment. Undefined: nothing is known. Asked after the command has ended. */
  whyNotRenewed(): Promise<string | undefined>;
}

/** After these losses nobody else gets the lease before its deadline. */
const LATE_LOSSES: ReadonlySet<string> = new Set(['DEADLINE', 'EXPIRED', 'STORE_UNAVAILABLE']);

/** How often the watchdog hears a later deadline, as a part of the ttl. */
const UPDATES_PER_TTL = 30;

/**
 * Waits for the lease, runs the command, ends the command before the lease ends, and releases the lease after the last
 * process of the command has ended. Resolves with the exit code.
 */
export async function runUnderLease(terminal: Terminal, run: GuardedRun): Promise<number> {
  const guarded = GuardedCommand.create(terminal.env);
  try {
    const lease = await run.acquire(terminal.interrupted);
    let code: number;
    try {
      code = await runCommand(terminal, guarded, lease, run);
    } catch (error) {
      await release(terminal, lease);
      throw error;
    }
    // Others may get a lost lease without its release, and the server that must answer may be the reason of the loss.
    if (code === EXIT.lost) return (await releaseSoon(lease), code);
    return (await release(terminal, lease)) ? code : EXIT.lost;
  } finally {
    guarded.close();
  }
}

async function runCommand(
  terminal: Terminal,
  guarded: GuardedCommand,
  lease: Lease,
  { command: [program, ...args], ttlMs, maxHoldMs, limits, whyNotRenewed }: GuardedRun,
): Promise<number> {
  await guarded.ready();
  // No line up to `forwardSignals` waits, so no signal is lost: a signal before this line has aborted `interrupted`.
  terminal.interrupted.throwIfAborted();
  const deadline = () => sharedDeadline(() => lease.remaining());
  const env = { ...terminal.env, ...variables(lease) };
  guarded.run({ command: program, args, env, deadline: deadline(), ...limits });
  const stopForwarding = terminal.forwardSignals((signal) => guarded.signal(signal));
  const onLoss = () => guarded.stop();
  lease.signal.addEventListener('abort', onLoss);
  if (lease.signal.aborted) onLoss();
  const updates = setInterval(() => {
    if (lease.isValid) guarded.moveDeadline(deadline());
  }, ttlMs / UPDATES_PER_TTL);
  const bound = new HoldBound(maxHoldMs, onLoss);
  try {
    return await exitCode(terminal, lease, await guarded.ended(), bound, whyNotRenewed);
  } finally {
    lease.signal.removeEventListener('abort', onLoss);
    clearInterval(updates);
    bound.clear();
    stopForwarding();
  }
}

/** The lease id is a secret and stays here. */
function variables(lease: Lease): NodeJS.ProcessEnv {
  return {
    [COMMAND_VARIABLES.name]: lease.name,
    [COMMAND_VARIABLES.fencingToken]: String(lease.fencingToken),
    [COMMAND_VARIABLES.deadlineMs]: String(Math.floor(timeOfDayMs() + lease.remaining())),
  };
}

/** A command that has ended by itself before the deadline keeps its exit code, although the lease was lost meanwhile. */
async function exitCode(
  terminal: Terminal,
  lease: Lease,
  ended: Ended,
  bound: HoldBound,
  whyNotRenewed: GuardedRun['whyNotRenewed'],
): Promise<number> {
  const { code, signal, wasStopped, stopSignal, lateMs } = ended;
  const loss = lease.loss;
  const mayOverlap = lateMs > 0 || (loss !== undefined && !LATE_LOSSES.has(loss.lossCause));
  if (wasStopped || mayOverlap) {
    const why = bound.hasPassed
      ? `--max-hold has passed for ${quoted(lease.name)}`
      : await lossText(lease, stopSignal, whyNotRenewed);
    terminal.err.write(`holdfast: ${why}; ${endText(wasStopped, lateMs)}\n`);
    return EXIT.lost;
  }
  return signal === null ? (code ?? EXIT.failed) : 128 + constants.signals[signal];
}

async function lossText(
  lease: Lease,
  stopSignal: NodeJS.Signals | undefined,
  whyNotRenewed: GuardedRun['whyNotRenewed'],
): Promise<string> {
  const { loss } = lease;
  if (loss === undefined && stopSignal) return `the watchdog got ${stopSignal}`;
  const why = loss === undefined || LATE_LOSSES.has(loss.lossCause) ? await whyNotRenewed() : undefined;
  const text = loss ? problemText(loss) : `the lease of ${quoted(lease.name)} was not renewed in time`;
  return why === undefined || text.includes(why) ? text : `${text}: ${why}`;
}

/** The longest wait for the release of a lease that others can get without it (ms). */
const LOST_RELEASE_MS = 300;

async function releaseSoon(lease: Lease): Promise<void> {
  await Promise.race([lease.release().catch(() => undefined), sleep(LOST_RELEASE_MS)]);
}

/**
 * Resolves with false if others may have held the lease before the command had ended. A lease without an answer ends by its
 * ttl, after the command, so the exit code of the command stays.
 */
async function release(terminal: Terminal, lease: Lease): Promise<boolean> {
  try {
    const { released, lossCause } = await lease.release();
    if (released || lossCause === undefined || !EARLY_ENDS.has(lossCause)) return true;
    if (lease.loss === undefined) {
      terminal.err.write(
        `holdfast: the lease of ${quoted(lease.name)} ended before the command: ${lossCause}\n`,
      );
    }
    return false;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    // This process ends now, and does not repeat the release as a client in a longer program does.
    const why = error instanceof UnavailableError ? 'no server has confirmed it' : problemText(error);
    terminal.err.write(
      `holdfast: the release of ${quoted(lease.name)} failed: ${why}; the lease ends after its ttl\n`,
    );
    return true;
  }
}
