import { HoldfastError } from '../../clients/typescript';
import { escapeJson, escapeText } from '../base/text';
import { type Column, table } from './table';
import { type Terminal, timeOfDayText } from './terminal';

/** The fields of the contract that are a Timestamp and a Duration. */
const TIMESTAMP = /Time$/;
const DURATION = /(^age|ttl|Ttl|Duration|Offset|Interval|Timeout|Staleness|Age|Delay)$/;

interface Parts {
  readonly seconds?: string;
  readonly nanos?: number;
}

/**
 * A message as text in the JSON form of protobuf. The generated code writes times and durations as seconds and
 * nanoseconds; the JSON form has "2026-11-26T14:02:11.345Z" and "1.500s". Names and labels are texts of others, so
 * controls and invisible characters are escaped.
 */
export function jsonText(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, replace, indent));
}

function replace(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (TIMESTAMP.test(key)) return timestampText(value);
  if (DURATION.test(key)) return durationText(value);
  return value;
}

function timestampText({ seconds = '0', nanos = 0 }: Parts): string {
  const [whole = ''] = timeOfDayText(Number(seconds) * 1000).split('.');
  return `${whole}${fraction(nanos)}Z`;
}

function durationText({ seconds = '0', nanos = 0 }: Parts): string {
  const sign = seconds.startsWith('-') || nanos < 0 ? '-' : '';
  return `${sign}${seconds.replace('-', '')}${fraction(Math.abs(nanos))}s`;
}

/** "", ".345", ".345678" or ".345678901". */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  return `.${String(nanos)
    .padStart(9, '0')
    .replace(/(000){1,2}$/, '')}`;
}

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

/** The flags for the names that the client has for the fields of the contract, and for the fields that it does not know. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ['all_holders', '--all'],
  ['expectedLimit', '--expected'],
  ['fencing_token', '--token'],
  ['holderId', '--holder'],
  ['name_prefix', 'the prefix'],
  ['leave expectedLimit unset', 'leave out --expected'],
  ['or set force', 'or give --force'],
  ['raise wait', 'raise --wait'],
  ['set its limit, or acquire with limit', 'create it with "holdfast semaphore set-limit"'],
  ['waiter_position', '--waiter'],
]);
/** Names with a common meaning are a field only where a server says what is wrong with it: at the beginning, and after ";". */
const LEADING: ReadonlyMap<string, string> = new Map([
  ['capacity', '--capacity'],
  ['force', '--force'],
  ['id', '--entry-id'],
  ['identity', '--identity'],
  ['limit', '--limit'],
  ['permits', '--permits'],
  ['reason', '--reason'],
  ['recents', '--recents'],
  ['ttl', '--ttl'],
  ['value', '--value'],
  ['wait', '--wait'],
]);
/** Names of locks and labels of holders are quoted, and stay. Longer phrases come first. */
const PARTS = new RegExp(
  `"(?:[^"\\\\]|\\\\.)*"|\\b(?:${[...FLAGS.keys()].sort((a, b) => b.length - a.length).join('|')})\\b`,
  'g',
);

/** The text of an error of the client, with the flags of this program in place of the options of the client. */
export function inWordsOfFlags(text: string): string {
  return text
    .replace(PARTS, (part) => FLAGS.get(part) ?? part)
    .replace('send the metadata "authorization: Bearer <token>"', 'give --token-file')
    .replace(/(?<=^|; )[a-z]+(?= (?:is|must|has) )/g, (name) => LEADING.get(name) ?? name);
}

/** The words of gRPC around the error of the operating system. */
const NO_CONNECTION =
  /No connection established\. Last error: (?:\w*Error(?: \[\w+\])?: )?(.*?)[.\s]*Resolution note: ?/s;
/** An error of OpenSSL: numbers, the place in its sources, and the reason between colons. */
const OPEN_SSL = /[0-9A-F]+:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):\S*/;
/** grpc-js says no more if a server ends a new connection without a word, as a server with TLS does. */
const ENDED_AT_ONCE = /Failed to connect \([\dTZ:.-]+\)/;
/** The time in this text is that of the last attempt alone. The address is known after a connection only. */
const LATE = /Deadline exceeded after [\d.]+s(?:.*remote_addr=([^,\s]+))?.*/s;
/** The answer of a server without TLS is no TLS record. */
const NO_TLS = /wrong version number|packet length too long/;

/** The message of an error on one line, without the inner details of gRPC and OpenSSL. */
export function problemText(error: Error): string {
  const text = (error instanceof HoldfastError ? inWordsOfFlags(error.message) : error.message)
    .replace(NO_CONNECTION, '$1')
    .replace(OPEN_SSL, 'TLS: $1')
    .replace(LATE, (_, address?: string) => `${address ?? 'the server'} is silent`)
    .replace(ENDED_AT_ONCE, 'the connection ended before an answer (does the server want TLS?)')
    .trimEnd();
  return escapeText(NO_TLS.test(text) ? `${text} (does the server have TLS?)` : text);
}

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

/** A name or a text of others in a message. */
export function quoted(text: string): string {
  return `"${escapeText(text)}"`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** "850ms", "12.3s", "5m12s", "3d4h": at most two units. */
export function spanText(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')}s`;
  let rest = Math.round(ms / 1000) * 1000;
  const parts: string[] = [];
  for (const [unit, size] of [...UNITS, ['s', 1000] as const]) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join('');
}
