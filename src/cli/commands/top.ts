import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { HoldfastError, type Holdfast } from '../../../clients/typescript';
import type { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Semaphore } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { timeSpan, wholeNumber } from '../arguments';
import { connected, outputOf, printing, withClient, type OutputFlags } from '../command-setup';
import type { ConnectionFlags } from '../connection/settings';
import { UsageError } from '../exit-codes';
import { problemText } from '../output/problem-text';
import { spanText } from '../output/spans';
import { table, type Column } from '../output/table';
import type { Terminal } from '../terminal';
import { timeOfDayMs, timeOfDayText } from '../time-of-day';
import { lockKind } from './lock-kind';
import { timeMs } from './requests';
import type { Resource } from './resource-kind';
import { firstHolder } from './resource-text';
import { semaphoreKind } from './semaphore-kind';

interface TopFlags extends ConnectionFlags, OutputFlags {
  interval: number;
  limit: number;
  once?: boolean;
}

type Row = { readonly lock: Lock } | { readonly semaphore: Semaphore };

interface Ranking {
  readonly rows: readonly Row[];
  readonly sampled: boolean;
  /** The wall clock at the time of the answer (ms). */
  readonly atMs: number;
}

/** A shorter interval would load the servers, which count up to 20,000 names for each answer. */
const LEAST_INTERVAL_MS = 500;

const SAMPLED = 'not all names were counted, so others may have more waiters; a longer prefix helps';

/** `holdfast top`: the names with the most waiters. */
export function addTop(program: Command, terminal: Terminal): void {
  const command = program
    .command('top')
    .summary('show the locks and semaphores with the most waiters')
    .description(
      'Shows the locks and semaphores with the most waiters, again and again until Ctrl-C. ' +
        'Without a terminal, or with another format than table, shows them once.',
    )
    .argument('[prefix]', 'only names that begin with this text', '')
    .option('--interval <time>', 'time between two answers, at least 500ms', timeSpan, 2000)
    .option('--limit <count>', 'the largest number of names, at most 500', wholeNumber(1), 20)
    .option('--once', 'show them once');
  connected(printing(command)).action(async (prefix: string, flags: TopFlags) => {
    if (flags.interval < LEAST_INTERVAL_MS) throw new UsageError('--interval must be at least 500ms');
    const isOnce = flags.once === true || terminal.columns === undefined || flags.output !== 'table';
    await withClient(terminal, flags, (hf) =>
      isOnce ? showOnce(terminal, hf, prefix, flags) : redraw(terminal, hf, prefix, flags),
    );
  });
}

async function rank(hf: Holdfast, namePrefix: string, limit: number): Promise<Ranking> {
  const query = { namePrefix, holderId: '', identity: '', pageSize: Math.min(500, limit), pageToken: '' };
  const [locks, semaphores] = await Promise.all([
    lockKind.list(hf, { ...query, byWaiterCount: true }),
    semaphoreKind.list(hf, { ...query, byWaiterCount: true }),
  ]);
  const rows = [
    ...locks.rows.map((lock) => ({ lock })),
    ...semaphores.rows.map((semaphore) => ({ semaphore })),
  ].filter((row) => resourceOf(row).waiterCount > 0);
  rows.sort((a, b) => resourceOf(b).waiterCount - resourceOf(a).waiterCount);
  return { rows: rows.slice(0, limit), sampled: locks.sampled || semaphores.sampled, atMs: timeOfDayMs() };
}

async function showOnce(terminal: Terminal, hf: Holdfast, prefix: string, flags: TopFlags): Promise<void> {
  const { rows, sampled, atMs } = await rank(hf, prefix, flags.limit);
  if (sampled) terminal.err.write(`holdfast: ${SAMPLED}\n`);
  const output = outputOf(terminal, flags);
  if (output.format === 'table' && rows.length === 0) return output.write('no waiters found\n');
  await output.rows([rows], rowToJson, columns(atMs));
}

/** The alternate screen of the terminal, so that the earlier lines come back at the end. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_REST = '\u001b[J';

async function redraw(terminal: Terminal, hf: Holdfast, prefix: string, flags: TopFlags): Promise<void> {
  const { interrupted: signal, out } = terminal;
  // A server that refuses the first call, or does not answer, ends the command.
  let ranking = await rank(hf, prefix, flags.limit);
  let problem: string | undefined;
  out.write(ENTER);
  try {
    while (!signal.aborted) {
      const lines = topLines(ranking, terminal, screenRows(terminal), problem);
      out.write(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_REST}`);
      await pause(flags.interval, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        ranking = await rank(hf, prefix, flags.limit);
        problem = undefined;
      } catch (error) {
        // The next look may succeed, for example after the restart of a server.
        if (!(error instanceof HoldfastError)) throw error;
        problem = `old, from ${timeOfDayText(ranking.atMs)}, because: ${problemText(error)}`;
      }
    }
  } finally {
    out.write(LEAVE);
  }
}

/** The size now, because a window can be resized. */
function screenRows({ out }: Terminal): number {
  return 'rows' in out && typeof out.rows === 'number' ? out.rows : 24;
}

/** At most `rows - 1` lines, so that the screen does not scroll. `problem`: why the ranking is an old one. */
export function topLines(
  { rows, sampled, atMs }: Ranking,
  terminal: Terminal,
  screenRows: number,
  problem?: string,
): string[] {
  const columnsNow = 'columns' in terminal.out ? Number(terminal.out.columns) : terminal.columns;
  const screen = { columns: columnsNow, outHasColour: terminal.outHasColour };
  const notes = [...(problem === undefined ? [] : [problem]), ...(sampled ? [SAMPLED] : [])];
  const head = [`holdfast top  ${timeOfDayText()}`, ...notes.map((note) => note.slice(0, columnsNow)), ''];
  const below = rows.length === 0 ? ['no waiters found'] : table(rows, columns(atMs), screen);
  return [...head, ...below].slice(0, Math.max(1, screenRows - 1));
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
      value: (row) => ('lock' in row ? '' : `${row.semaphore.usedCount}/${row.semaphore.limit}`),
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
