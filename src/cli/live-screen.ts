import { setTimeout as pause } from 'node:timers/promises';
import { HoldfastError } from '../../clients/typescript';
import { type Terminal, timeOfDayText } from './terminal';
import { problemText } from './output';
import { table, type Column } from './table';

/** What `holdfast top` shows at one time. */
export interface Look<R> {
  readonly rows: readonly R[];
  /** What the reader must know about the rows. */
  readonly notes: readonly string[];
  /** The wall clock at the time of the answer (ms). */
  readonly atMs: number;
  readonly columns: readonly Column<R>[];
  readonly toJson: (row: R) => unknown;
  /** The text in place of an empty table. */
  readonly nothing: string;
}

/** The alternate screen of the terminal, so that the earlier lines come back at the end. */
const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_REST = '\u001b[J';

/** Draws a look again and again until Ctrl-C. */
export async function redraw<R>(
  terminal: Terminal,
  next: () => Promise<Look<R>>,
  intervalMs: number,
): Promise<void> {
  const { interrupted: signal, out } = terminal;
  // A server that refuses the first call, or does not answer, ends the command.
  let look = await next();
  let problem: string | undefined;
  out.write(ENTER);
  // At once, because the process does not wait for an answer under way when a signal ends it.
  const leave = (): void => void out.write(LEAVE);
  signal.addEventListener('abort', leave, { once: true });
  try {
    while (!signal.aborted) {
      const lines = screenLines(look, terminal, screenRows(terminal), problem);
      out.write(`${HOME}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_REST}`);
      await pause(intervalMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        look = await next();
        problem = undefined;
      } catch (error) {
        // The next look may succeed, for example after the restart of a server.
        if (!(error instanceof HoldfastError)) throw error;
        problem = `old, from ${timeOfDayText(look.atMs)}, because: ${problemText(error)}`;
      }
    }
  } finally {
    signal.removeEventListener('abort', leave);
    if (!signal.aborted) leave();
  }
}

/** The size now, because a window can be resized. */
function screenRows({ out }: Terminal): number {
  return 'rows' in out && typeof out.rows === 'number' ? out.rows : 24;
}

/** At most `rows - 1` lines, so that the screen does not scroll. `problem`: why the look is an old one. */
export function screenLines<R>(
  { rows, notes, columns, nothing }: Look<R>,
  terminal: Terminal,
  screenRows: number,
  problem?: string,
): string[] {
  const columnsNow = 'columns' in terminal.out ? Number(terminal.out.columns) : terminal.columns;
  const screen = { columns: columnsNow, outHasColour: terminal.outHasColour };
  const above = [...(problem === undefined ? [] : [problem]), ...notes];
  const head = [`holdfast top  ${timeOfDayText()}`, ...above.map((note) => note.slice(0, columnsNow)), ''];
  const below = rows.length === 0 ? [nothing] : table(rows, columns, screen);
  return [...head, ...below].slice(0, Math.max(1, screenRows - 1));
}
