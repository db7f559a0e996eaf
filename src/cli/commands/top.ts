import { status } from '@grpc/grpc-js';
import { type Command, Option } from 'commander';
import { type Holdfast, HoldfastError } from '../../../clients/typescript';
import { addressList } from '../../../clients/typescript/connection/addresses';
import { durationToMs } from '../../../clients/typescript/duration';
import { ErrorReason, errorReasonToJSON } from '../../../generated/typescript/holdfast/v1/error_reason';
import type { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Semaphore } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import {
  Caller,
  CallerOrder,
  type ListCallersResponse,
  ServerServiceService as service,
} from '../../../generated/typescript/holdfast/v1/server_service';
import {
  connected,
  type ConnectionFlags,
  connectionSettings,
  type OutputFlags,
  outputOf,
  printing,
  withClient,
} from '../client';
import {
  firstHolder,
  limitText,
  listedPages,
  lockKind,
  type Resource,
  semaphoreKind,
  timeMs,
} from '../leases/kinds';
import { type Look, redraw } from '../live-screen';
import { spanText } from '../output';
import { pauseOfServers } from '../server-trouble';
import type { Column } from '../table';
import { CliError, EXIT, type Terminal, timeOfDayMs, timeSpan, UsageError, wholeNumber } from '../terminal';

/** The options of `holdfast top` for callers. */
interface CallerFlags {
  callers?: boolean;
  by?: keyof typeof ORDERS | 'hold';
}

const ORDERS = {
  calls: CallerOrder.CALLER_ORDER_CALL_COUNT,
  refusals: CallerOrder.CALLER_ORDER_REFUSAL_COUNT,
  leases: CallerOrder.CALLER_ORDER_LEASE_COUNT,
  waits: CallerOrder.CALLER_ORDER_WAITER_COUNT,
} as const;

/** A caller, or the sums of all callers without a row. */
type CallerRow = { readonly caller: Caller } | { readonly other: Caller };

function addCallerOptions(command: Command): Command {
  return command
    .option('--callers', 'show who calls one server, the most calls of the last minute first')
    .addOption(
      new Option(
        '--by <order>',
        'hold: the names that are held longest; the others order callers (default: calls)',
      ).choices([...Object.keys(ORDERS), 'hold']),
    );
}

/** Asks the server for its callers. Throws a UsageError for options that do not fit. */
function callerLook(
  prefix: string,
  flags: CallerFlags & ConnectionFlags & { limit: number },
  { env }: Terminal,
): (hf: Holdfast) => Promise<Look<unknown>> {
  const { by = 'calls' } = flags;
  if (by === 'hold') throw new UsageError('--by hold orders names, not callers');
  if (prefix !== '') throw new UsageError('--callers shows callers, so it takes no prefix of names');
  const { address } = connectionSettings(flags, env);
  const several = addressList(address).length > 1 ? ONE_OF_SEVERAL : undefined;
  const request = {
    identity: '',
    address: '',
    pageSize: flags.limit,
    orderBy: ORDERS[by],
  };
  return async (hf) => {
    const answer = await hf.call(service.listCallers, request).catch(explainOldServer);
    return lookAt(answer, several) as Look<unknown>;
  };
}

const ONE_OF_SEVERAL = 'these are the callers of one of the servers; name one server with --address';

function explainOldServer(error: unknown): never {
  if (!(error instanceof HoldfastError) || error.code !== status.UNIMPLEMENTED) throw error;
  throw new CliError('this server cannot list its callers, because its version is too old', EXIT.failed);
}

function lookAt(
  { callers, other, callerCount, recentDuration }: ListCallersResponse,
  several?: string,
): Look<CallerRow> {
  const recent = spanText((recentDuration && durationToMs(recentDuration)) ?? 0);
  const left = callerCount - callers.length;
  return {
    rows: [...callers.map((caller) => ({ caller })), ...(other === undefined ? [] : [{ other }])],
    notes: [
      `RECENT and REFUSED are of the last ${recent}${left > 0 ? `; ${left} more callers, --limit shows up to 500` : ''}`,
      ...(several === undefined ? [] : [several]),
    ],
    atMs: timeOfDayMs(),
    columns: COLUMNS,
    toJson: callerToJson,
    nothing: 'no callers found',
  };
}

function callerToJson(row: CallerRow): unknown {
  return 'caller' in row ? { caller: Caller.toJSON(row.caller) } : { other: Caller.toJSON(row.other) };
}

function usedBy(row: CallerRow): Caller {
  return 'caller' in row ? row.caller : row.other;
}

function count(title: string, value: (caller: Caller) => bigint | number): Column<CallerRow> {
  return { title, value: (row) => String(value(usedBy(row))), isNumber: true };
}

const COLUMNS: readonly Column<CallerRow>[] = [
  {
    title: 'IDENTITY',
    value: (row) => ('caller' in row ? row.caller.identity || '-' : '(all others)'),
    mayShrink: true,
  },
  { title: 'ADDRESS', value: (row) => usedBy(row).address || '-' },
  count('RECENT', (caller) => caller.recentCallCount),
  count('REFUSED', (caller) => caller.recentRefusalCount),
  count('CALLS', (caller) => caller.callCount),
  count('LEASES', (caller) => caller.leaseCount),
  count('WAITS', (caller) => caller.waiterCount),
  count('STREAMS', (caller) => caller.streamCount),
  { title: 'LAST REFUSAL', value: (row) => lastRefusal(usedBy(row)) },
];

function lastRefusal({ lastRefusalReason }: Caller): string {
  if (lastRefusalReason === ErrorReason.ERROR_REASON_UNSPECIFIED) return '';
  return errorReasonToJSON(lastRefusalReason).replace('ERROR_REASON_', '');
}

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
