import { Option, type Command } from 'commander';
import {
  ContendedError,
  HoldfastError,
  UnavailableError,
  type Holdfast,
  type Lease,
  type QueuePlace,
} from '../../../clients/typescript';
import { escapeText } from '../../base/text';
import {
  CliError,
  EXIT,
  exitCodeHelp,
  exitCodeNumber,
  type Terminal,
  timeSpan,
  wholeNumber,
} from '../terminal';
import { connected, type ConnectionFlags, withClientOfRun } from '../client';
import { quoted, spanText } from '../output';
import { LEAST_TTL_MS, runLimits, runUnderLease } from '../run/under-lease';
import { NO_STORE, pauseOfServers, RunTrouble } from '../server-trouble';
import { semaphoreKind } from './kinds';

interface RunFlags extends ConnectionFlags {
  ttl: number;
  wait?: number;
  grace?: number;
  maxHold?: number;
  holder?: string;
  exitNotGranted: number;
  quiet?: boolean;
}

/** What the three commands share in a request. */
interface Common {
  readonly ttl: number;
  readonly wait?: number;
  readonly signal: AbortSignal;
  readonly onQueued: (place: QueuePlace) => void;
}

interface Runner<Flags> {
  /** "lock", "semaphore" or "election". */
  readonly word: string;
  /** The use of the fencing token, indented as its lines in the help. */
  readonly tokenHelp: string;
  acquire(hf: Holdfast, name: string, common: Common, flags: Flags): Promise<Lease>;
  /** Why nothing was granted, if a holder is not the reason. */
  whyNotGranted?(hf: Holdfast, name: string): Promise<string | undefined>;
}

const CLOSE_AFTER_LOSS_MS = 200;

const ORDERING_TOKEN = `the token of the lease: pass the token to the
                          protected store, which refuses smaller tokens`;

export function addLockRun(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('run')
    .summary('run a command while holding a lock')
    .description('Waits for a lock, runs a command, and releases the lock.')
    .option('--shared', 'hold the lock together with other shared holders');
  finish(command, terminal, 'lock run deploy --wait 5m -- ./deploy.sh', {
    word: 'lock',
    tokenHelp: ORDERING_TOKEN,
    acquire: (hf, name, common, { shared }: { shared?: boolean }) =>
      hf.lock(name, { ...common, ...(shared && { mode: 'shared' as const }) }),
  });
}

export function addSemaphoreRun(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('run')
    .summary('run a command while holding permits')
    .description('Waits for permits of a semaphore, runs a command, and releases the permits.')
    .option('--permits <count>', 'number of permits', wholeNumber(1), 1)
    .option(
      '--limit <count>',
      'create the semaphore with this limit, if there is none; an existing limit stays',
      wholeNumber(1),
    );
  finish(command, terminal, 'semaphore run gpu --limit 8 --permits 2 -- python3 train.py', {
    word: 'semaphore',
    tokenHelp: `the token of the lease. Tokens of a semaphore do not
                          order writes, because a semaphore has several holders`,
    acquire: (hf, name, common, { permits, limit }: { permits: number; limit?: number }) =>
      hf.permits(name, { ...common, permits, ...(limit !== undefined && { limit }) }),
    whyNotGranted: async (hf, name) => {
      const { limit, keptLimit } = await semaphoreKind.get(hf, name);
      if (limit > 0) return undefined;
      return keptLimit > 0
        ? `it is paused; "holdfast semaphore resume" brings back its limit of ${keptLimit}`
        : 'its limit of 0 pauses the semaphore; "holdfast semaphore set-limit" raises the limit';
    },
  });
}

export function addElect(program: Command, terminal: Terminal): void {
  const command = program
    .command('elect')
    .summary('run a command while this process is the leader')
    .description(
      'Stands in an election, runs a command as soon as this process is the leader, and resigns when the command ends. Then holdfast ends, and does not stand again. The leader holds the lock with the name of the election: "holdfast lock get NAME" shows the leader and its value.',
    )
    .option('--value <text>', 'text that others see while this process leads, for example an address', '');
  finish(command, terminal, 'elect scheduler --value "$HOSTNAME:8080" -- ./scheduler', {
    word: 'election',
    tokenHelp: ORDERING_TOKEN,
    acquire: (hf, name, common, { value }: { value: string }) => hf.election(name).campaign(value, common),
  });
}

/** Adds what is the same in the three commands. */
function finish<Flags>(command: Command, terminal: Terminal, example: string, runner: Runner<Flags>): void {
  command
    .usage('[options] <name> -- <command...>')
    .showHelpAfterError('(write the command after "--"; --help shows the options and examples)')
    .argument('<name>', `name of the ${runner.word}`)
    .argument('<command...>', 'the command after "--", with its arguments; no shell is used')
    .addOption(
      new Option(
        '--ttl <time>',
        `time after which the lease ends if holdfast vanishes; at least ${spanText(LEAST_TTL_MS)}`,
      )
        .argParser(timeSpan)
        .default(30_000, '30s'),
    )
    .option('--wait <time>', 'longest wait (default: no bound; 0s: try once)', timeSpan)
    .option('--grace <time>', 'time between SIGTERM and SIGKILL (default: a quarter of --ttl)', timeSpan)
    .option(
      '--max-hold <time>',
      'longest time for the command, which then gets SIGTERM, and SIGKILL after --grace',
      timeSpan,
    )
    .option('--holder <label>', 'label that others see (default: user@host:pid)')
    .option(
      '-E, --exit-not-granted <code>',
      `exit code if nothing was granted within --wait; while grants are paused it stays ${EXIT.paused}`,
      exitCodeNumber,
      EXIT.notGranted,
    )
    .option(
      '-q, --quiet',
      'print neither the place in the queue, nor a trouble of the servers, nor "not granted"',
    );
  connected(command).addHelpText('after', runHelp(example, runner.tokenHelp));
  command.action(async (name: string, words: [string, ...string[]], flags: RunFlags & Flags) => {
    terminal.exitWith(await run(terminal, name, words, flags, runner));
  });
}

async function run<Flags>(
  terminal: Terminal,
  name: string,
  command: [string, ...string[]],
  flags: RunFlags & Flags,
  runner: Runner<Flags>,
): Promise<number> {
  const { ttl, wait, maxHold } = flags;
  const limits = runLimits(ttl, flags.grace);
  const place = placeLine(terminal, flags);
  const trouble = new RunTrouble(terminal, flags.quiet === true);
  const acquire = async (hf: Holdfast, signal: AbortSignal): Promise<Lease> => {
    const bound = wait === undefined ? {} : { wait };
    try {
      return await runner.acquire(hf, name, { ttl, signal, onQueued: place, ...bound }, flags);
    } catch (error) {
      if (error instanceof ContendedError) throw await notGranted(hf, name, error, flags, runner);
      throw error instanceof UnavailableError ? await notGrantedNow(hf, name, error, runner.word) : error;
    }
  };
  try {
    return await withClientOfRun(
      terminal,
      flags,
      async (hf) => {
        const stop = trouble.follow(hf);
        try {
          const code = await runUnderLease(terminal, {
            command,
            ttlMs: ttl,
            maxHoldMs: maxHold,
            limits,
            acquire: (signal) => acquire(hf, signal),
            whyNotRenewed: () => trouble.atLoss(hf),
          });
          // The server that must answer may be the reason of the loss.
          if (code === EXIT.lost) await hf.close({ timeout: CLOSE_AFTER_LOSS_MS });
          return code;
        } finally {
          stop();
        }
      },
      { holderId: flags.holder ?? terminal.holderLabel },
    );
  } catch (error) {
    if (flags.quiet && error instanceof NotGranted) return error.exitCode;
    throw withAdvice(error, name);
  }
}

/** Nothing was granted within --wait. */
class NotGranted extends CliError {}

async function notGranted<Flags>(
  hf: Holdfast,
  name: string,
  { holderId }: ContendedError,
  { wait, quiet, exitNotGranted }: RunFlags,
  runner: Runner<Flags>,
): Promise<NotGranted> {
  const waited = wait === undefined || wait === 0 ? '' : ` within ${spanText(wait)}`;
  // The caller may have no right to read the state, or the server may have stopped.
  const found = quiet ? undefined : await runner.whyNotGranted?.(hf, name).catch(() => undefined);
  const why = found ?? (holderId === '' ? undefined : `held by ${holderId}`);
  const text = `${runner.word} "${name}" was not granted${waited}`;
  return new NotGranted(why === undefined ? text : `${text}: ${why}`, exitNotGranted);
}

/** No server has decided within --wait. The pause of the servers has its own exit code. */
async function notGrantedNow(
  hf: Holdfast,
  name: string,
  error: UnavailableError,
  word: string,
): Promise<UnavailableError | CliError> {
  const text = `${word} ${quoted(name)} was not granted`;
  if (error.reason === 'STORE_UNAVAILABLE') return new CliError(`${text}: ${NO_STORE}`, EXIT.unreachable);
  if (error.reason !== 'QUARANTINED') return error;
  const why = (await pauseOfServers(hf)) ?? 'paused';
  return new CliError(`${text}: grants are ${why}`, EXIT.paused);
}

/** The flag that would create the semaphore. */
function withAdvice(error: unknown, name: string): unknown {
  if (!(error instanceof HoldfastError) || error.reason !== 'NO_SUCH_SEMAPHORE') return error;
  return new CliError(
    `semaphore ${quoted(name)} does not exist: create it with --limit or "semaphore set-limit"`,
  );
}

/** Shows the place in the queue, in a terminal only: mails of cron and logs would fill with it. */
function placeLine(terminal: Terminal, { quiet }: RunFlags): (place: QueuePlace) => void {
  if (!terminal.errIsTerminal || quiet) return () => undefined;
  let last = '';
  return ({ position, waiterCount, holder }) => {
    const behind = holder?.holderId ? `, behind ${escapeText(holder.holderId)}` : '';
    const line = `holdfast: waiting, place ${position} of ${waiterCount}${behind}\n`;
    if (line !== last) terminal.err.write((last = line));
  };
}

function runHelp(example: string, tokenHelp: string): string {
  return `
The command runs in a session of its own, without a shell. Signals to holdfast
go to the session. If the lease cannot be renewed, or is lost, the session gets
SIGTERM, and SIGKILL after --grace, in time before the lease ends. This also
holds while holdfast is stopped, and after holdfast was killed. The lease is
released after the last process of the session has ended: processes that the
command leaves behind get SIGTERM, and SIGKILL after --grace.

Environment of the command:
  HOLDFAST_NAME           the name
  HOLDFAST_FENCING_TOKEN  ${tokenHelp}
  HOLDFAST_DEADLINE_MS    end of the lease (Unix time in milliseconds), as known
                          at the start of the command. Renewals move the end
${exitCodeHelp()}

Example:
  holdfast ${example}`;
}
