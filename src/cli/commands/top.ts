import type { Command } from 'commander';
import type { Holdfast } from '../../../clients/typescript';
import type { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Semaphore } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { timeSpan, wholeNumber } from '../arguments';
import { connected, outputOf, printing, withClient, type OutputFlags } from '../command-setup';
import type { ConnectionFlags } from '../settings';
import { UsageError } from '../exit-codes';
import { redraw, type Look } from '../live-screen';
import { spanText } from '../spans';
import type { Column } from '../table';
import type { Terminal } from '../terminal';
import { timeOfDayMs } from '../time-of-day';
import { listedPages } from '../leases/listed-pages';
import { lockKind } from '../leases/lock-kind';
import { timeMs } from '../leases/requests';
import type { Resource } from '../leases/resource-kind';
import { firstHolder } from '../leases/resource-text';
import { limitText, semaphoreKind } from '../leases/semaphore-kind';
import { pauseOfServers } from '../server-pause';
import { addCallerOptions, callerLook, type CallerFlags } from './top-callers';

interface TopFlags extends ConnectionFlags, OutputFlags, CallerFlags {
  interval: number;
  limit: number;
  once?: boolean;
}

type Row = { readonly lock: Lock } | { readonly semaphore: Semaphore };

/** A shorter interval would load the servers, which count up to 20,000 names for each answer. */
const LEAST_INTERVAL_MS = 500;

const SAMPLED = 'not all names were counted, so others may have more waiters; a longer prefix helps';

const EXAMPLES = `
Examples:
  holdfast top shop/
  holdfast top --by hold
  holdfast top --callers --address server-1:50051
  holdfast top --callers --by refusals --once -o json`;

/** `holdfast top`: the names with the most waiters, or the callers of a server. */
export function addTop(program: Command, terminal: Terminal): void {
  const command = program
    .command('top')
    .summary('show the names with the most waiters, or who calls the most')
    .description(
      'Shows the locks and semaphores with the most waiters, or with --callers what each caller of one server ' +
        'does, again and again until Ctrl-C. Without a terminal, or with another format than table, shows them once.',
    )
    .argument('[prefix]', 'only names that begin with this text', '')
    .option('--interval <time>', 'time between two answers, at least 500ms', timeSpan, 2000)
    .option('--limit <count>', 'the largest number of rows, at most 500', wholeNumber(1, 500), 20)
    .option('--once', 'show them once');
  addCallerOptions(command).addHelpText('after', EXAMPLES);
  connected(printing(command)).action(async (prefix: string, flags: TopFlags) => {
    if (flags.interval < LEAST_INTERVAL_MS) throw new UsageError('--interval must be at least 500ms');
    const look =
      flags.callers === true ? callerLook(prefix, flags, terminal) : nameLook(prefix, flags, terminal);
    const isOnce = flags.once === true || terminal.columns === undefined || flags.output !== 'table';
    await withClient(terminal, flags, (hf) =>
      isOnce ? showOnce(terminal, hf, look, flags) : redraw(terminal, () => look(hf), flags.interval),
    );
  });
}

function nameLook(
  prefix: string,
  { limit, by }: TopFlags,
  terminal: Terminal,
): (hf: Holdfast) => Promise<Look<unknown>> {
  if (by !== undefined && by !== 'hold') throw new UsageError(`--by needs --callers: ${by} orders callers`);
  const look = by === 'hold' ? longestHeld : rank;
  return async (hf) => (await look(hf, prefix, limit, terminal)) as Look<unknown>;
}

/** Of each kind. No list has this order, so all names are read, in steps that a server bounds. */
const MOST_NAMES_READ = 20_000;

async function longestHeld(
  hf: Holdfast,
  prefix: string,
  limit: number,
  terminal: Terminal,
): Promise<Look<Row>> {
  const query = { namePrefix: prefix, holderId: '', identity: '', byWaiterCount: false };
  const locks = longest(listedPages(lockKind, hf, query, terminal), limit, (lock) => ({ lock }));
  const semaphores = longest(listedPages(semaphoreKind, hf, query, terminal), limit, (semaphore) => ({
    semaphore,
  }));
  const [pause, ...found] = await Promise.all([pauseOfServers(hf), locks, semaphores]);
  const atMs = timeOfDayMs();
  const notes = pause === undefined ? [] : [`grants are ${pause}`];
  if (found.some(({ isCut }) => isCut)) {
    notes.push(`only ${MOST_NAMES_READ} names were read, so others may be held longer; a prefix helps`);
  }
  return {
    rows: found
      .flatMap(({ rows }) => rows)
      .sort(byHold)
      .slice(0, limit),
    notes,
    atMs,
    columns: columns(atMs).map((column) =>
      column.title === 'LONGEST WAIT'
        ? { title: 'HELD FOR', value: (row) => spanText(atMs - heldSinceMs(resourceOf(row))), isNumber: true }
        : column,
    ),
    toJson: rowToJson,
    nothing: 'no holders found',
  };
}

/** The rows that are held longest, of as many pages as are read. Keeps few rows, because there may be many names. */
async function longest<T extends Resource>(
  pages: AsyncIterable<readonly T[]>,
  limit: number,
  toRow: (resource: T) => Row,
): Promise<{ rows: Row[]; isCut: boolean }> {
  let rows: Row[] = [];
  let count = 0;
  for await (const page of pages) {
    count += page.length;
    const held = page.filter((one) => heldSinceMs(one) !== Infinity).map(toRow);
    rows = [...rows, ...held].sort(byHold).slice(0, limit);
    if (count >= MOST_NAMES_READ) return { rows, isCut: true };
  }
  return { rows, isCut: false };
}

function byHold(a: Row, b: Row): number {
  return heldSinceMs(resourceOf(a)) - heldSinceMs(resourceOf(b));
}

/** The begin of the earliest hold that a list shows. Infinity: no holder is shown. */
function heldSinceMs({ holders }: Resource): number {
  return Math.min(...holders.map(({ acquireTime }) => (acquireTime ? timeMs(acquireTime) : Infinity)));
}

async function rank(hf: Holdfast, namePrefix: string, limit: number): Promise<Look<Row>> {
  const query = { namePrefix, holderId: '', identity: '', pageSize: limit, pageToken: '' };
  const [pause, locks, semaphores] = await Promise.all([
    pauseOfServers(hf),
    lockKind.list(hf, { ...query, byWaiterCount: true }),
    semaphoreKind.list(hf, { ...query, byWaiterCount: true }),
  ]);
  const rows = [
    ...locks.rows.map((lock) => ({ lock })),
    ...semaphores.rows.map((semaphore) => ({ semaphore })),
  ].filter((row) => resourceOf(row).waiterCount > 0);
  rows.sort((a, b) => resourceOf(b).waiterCount - resourceOf(a).waiterCount);
  const atMs = timeOfDayMs();
  return {
    rows: rows.slice(0, limit),
    notes: [
      ...(pause === undefined ? [] : [`grants are ${pause}`]),
      ...(locks.sampled || semaphores.sampled ? [SAMPLED] : []),
    ],
    atMs,
    columns: columns(atMs),
    toJson: rowToJson,
    nothing: 'no waiters found',
  };
}

async function showOnce<R>(
  terminal: Terminal,
  hf: Holdfast,
  look: (hf: Holdfast) => Promise<Look<R>>,
  flags: TopFlags,
): Promise<void> {
  const { rows, notes, toJson, columns: shown, nothing } = await look(hf);
  for (const note of notes) terminal.err.write(`holdfast: ${note}\n`);
  const output = outputOf(terminal, flags);
  if (output.format === 'table' && rows.length === 0) return output.write(`${nothing}\n`);
  await output.rows([rows], toJson, shown);
}

function resourceOf(row: Row): Resource {
  return 'lock' in row ? row.lock : row.semaphore;
}

function rowToJson(row: Row): unknown {
  return 'lock' in row
    ? { lock: lockKind.toJson(row.lock) }
    : { semaphore: semaphoreKind.toJson(row.semaphore) };
}

function columns(nowMs: number): readonly Column<Row>[] {
  return [
    { title: 'KIND', value: (row) => ('lock' in row ? lockKind.word : semaphoreKind.word) },
    { title: 'NAME', value: (row) => resourceOf(row).name, mayShrink: true },
    { title: 'WAITERS', value: (row) => String(resourceOf(row).waiterCount), isNumber: true },
    { title: 'LONGEST WAIT', value: (row) => longestWait(resourceOf(row), nowMs), isNumber: true },
    {
      title: 'USED',
      value: (row) => ('lock' in row ? '' : `${row.semaphore.usedCount}/${limitText(row.semaphore)}`),
      isNumber: true,
    },
    { title: 'HOLDER', value: (row) => firstHolder(resourceOf(row)), mayShrink: true },
  ];
}

/** The wait of the first waiter, who has waited for the longest time. */
function longestWait({ waiters }: Resource, nowMs: number): string {
  const since = waiters[0]?.enqueueTime;
  return since === undefined ? '' : spanText(nowMs - timeMs(since));
}
