import type { Terminal } from './terminal';
import { jsonText } from './json';
import { table, type Column } from './table';

export const FORMATS = ['table', 'json', 'jsonl'] as const;
export type Format = (typeof FORMATS)[number];

/** Rows that are known one page after another, or all at once: `[rows]`. */
export type Pages<T> = Iterable<readonly T[]> | AsyncIterable<readonly T[]>;

/**
 * Prints data on stdout in the format of `-o`. `json` prints one value: an object, or an array of all rows. `jsonl` prints
 * one object per line as soon as a row is known. Objects follow the JSON form of protobuf.
 */
export class Output {
  constructor(
    private readonly terminal: Terminal,
    readonly format: Format,
  ) {}

  /** One thing: its JSON, or in the format `table` its lines. */
  async one(json: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.format === 'json') return this.write(`${jsonText(json, 2)}\n`);
    if (this.format === 'jsonl') return this.write(`${jsonText(json)}\n`);
    return this.write(
      lines()
        .map((line) => `${line}\n`)
        .join(''),
    );
  }

  async rows<T>(pages: Pages<T>, toJson: (row: T) => unknown, columns: readonly Column<T>[]): Promise<void> {
    if (this.format === 'table') return this.tables(pages, columns);
    if (this.format === 'jsonl') {
      for await (const page of pages) {
        await this.write(page.map((row) => `${jsonText(toJson(row))}\n`).join(''));
      }
      return;
    }
    let before = '[\n';
    for await (const page of pages) {
      for (const row of page) {
        await this.write(`${before}  ${jsonText(toJson(row))}`);
        before = ',\n';
      }
    }
    await this.write(before === '[\n' ? '[]\n' : '\n]\n');
  }

  /** Resolves when the reader has taken the text, so that a slow reader slows the command down. */
  write(text: string): Promise<void> {
    if (text === '' || this.terminal.out.write(text)) return Promise.resolve();
    return new Promise((resolve) => this.terminal.out.once('drain', resolve));
  }

  private async tables<T>(pages: Pages<T>, columns: readonly Column<T>[]): Promise<void> {
    let shown: readonly Column<T>[] = [];
    for await (const page of pages) {
      if (page.length === 0) continue;
      const used = columns.filter(
        (column) =>
          !column.isOnlyIfUsed || shown.includes(column) || page.some((row) => column.value(row) !== ''),
      );
      const lines = table(page, used, this.terminal, used.length > shown.length);
      shown = used;
      await this.write(lines.map((line) => `${line}\n`).join(''));
    }
    if (shown.length === 0 && this.terminal.errIsTerminal)
      this.terminal.err.write('holdfast: nothing found\n');
  }
}
