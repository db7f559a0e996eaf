import { constants } from 'node:os';
import { HoldfastError, type Lease } from '../../../clients/typescript';
import { COMMAND_VARIABLES } from '../../config/client-variables';
import { escapeText } from '../../wire/escape-text';
import { EXIT } from '../exit-codes';
import type { Terminal } from '../terminal';
import { timeOfDayMs } from '../time-of-day';
import { GuardedCommand, type Ended } from './guarded-command';
import type { RunLimits } from './run-limits';
import { sharedDeadline } from './shared-clock';

export interface GuardedRun {
  readonly command: readonly [program: string, ...args: string[]];
  readonly ttlMs: number;
  readonly limits: RunLimits;
  /** Waits for the lease. */
  acquire(signal: AbortSignal): Promise<Lease>;
}

/** After these ends others may have held the lease before its deadline. */
const EARLY_ENDS: ReadonlySet<string> = new Set(['REVOKED', 'STORE_RESET']);

/** How often the watchdog hears a later deadline, as a part of the ttl. */
const UPDATES_PER_TTL = 30;

/**
 * Waits for the lease, runs the command, ends the command before the lease ends, and releases the lease after the last
 * process of the command has ended. Resolves with the exit code.
 */
export async function runUnderLease(terminal: Terminal, run: GuardedRun): Promise<number> {
  const guarded = GuardedCommand.create();
  try {
    const lease = await run.acquire(terminal.interrupted);
    let code: number;
    try {
      code = await runCommand(terminal, guarded, lease, run);
    } catch (error) {
      await release(terminal, lease);
      throw error;
    }
    return (await release(terminal, lease)) ? code : EXIT.lost;
  } finally {
    guarded.close();
  }
}

async function runCommand(
  terminal: Terminal,
  guarded: GuardedCommand,
  lease: Lease,
  { command: [program, ...args], ttlMs, limits }: GuardedRun,
): Promise<number> {
  // A signal between the grant and this line has aborted `interrupted`.
  terminal.interrupted.throwIfAborted();
  const stopForwarding = terminal.forwardSignals((signal) => guarded.signal(signal));
  const deadline = () => sharedDeadline(() => lease.remaining());
  const onLoss = () => guarded.stop();
  const updates = setInterval(() => {
    if (lease.isValid) guarded.moveDeadline(deadline());
  }, ttlMs / UPDATES_PER_TTL);
  try {
    const env = { ...terminal.env, ...variables(lease) };
    await guarded.start({ command: program, args, env, deadline: deadline(), ...limits });
    lease.signal.addEventListener('abort', onLoss);
    if (lease.signal.aborted) onLoss();
    return exitCode(terminal, lease, await guarded.ended());
  } finally {
    lease.signal.removeEventListener('abort', onLoss);
    clearInterval(updates);
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

function exitCode(terminal: Terminal, lease: Lease, { code, signal, wasStopped }: Ended): number {
  const { loss } = lease;
  if (loss !== undefined || wasStopped) {
    const why = loss?.message ?? `the lease of ${quoted(lease.name)} was not renewed in time`;
    terminal.err.write(`holdfast: ${escapeText(why)}; the command was ended before the deadline\n`);
    return EXIT.lost;
  }
  return signal === null ? (code ?? EXIT.failed) : 128 + constants.signals[signal];
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
    terminal.err.write(`holdfast: ${escapeText(error.message)}; the lease ends after its ttl\n`);
    return true;
  }
}

function quoted(name: string): string {
  return `"${escapeText(name)}"`;
}
