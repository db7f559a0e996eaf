import type { Terminal } from './terminal';

const REDRAW_MS = 100;
const BAR = 24;

/** A line on stderr that shows how far a command is. Shown on a terminal only. */
export class Progress {
  private drawnAt = -Infinity;
  private isShown = false;

  /** @param total the number of bytes in all, if it is known */
  constructor(
    private readonly terminal: Terminal,
    private readonly total: number | undefined,
  ) {}

  show(bytes: number, count: number): void {
    const time = performance.now();
    if (!this.terminal.errIsTerminal || time - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = time;
    this.isShown = true;
    this.terminal.err.write(
      `\r\u001b[K${this.bar(bytes)}${count.toLocaleString('en')} ${count === 1 ? 'entry' : 'entries'}`,
    );
  }

  /** Removes the line. */
  end(): void {
    if (this.isShown) this.terminal.err.write('\r\u001b[K');
    this.isShown = false;
  }

  private bar(bytes: number): string {
    if (!this.total) return '';
    const share = Math.min(1, bytes / this.total);
    const full = Math.round(share * BAR);
    return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${String(Math.floor(share * 100)).padStart(3)}%  `;
  }
}
