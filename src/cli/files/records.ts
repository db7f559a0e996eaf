import { createReadStream, open, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { unlessAborted } from '../../../clients/typescript/calls/abort';
import { UsageError } from '../terminal';

/** A line without its end. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** The largest entry has about 61 KiB as JSON if each character is escaped. Longer lines are no entries. */
const MAX_LINE = 2 ** 17;

/** A source of bytes, for example a file or stdin. */
export type Bytes = AsyncIterable<Buffer | string>;

/** UTF-8 text in pieces. Throws a UsageError for other bytes. A byte order mark at the start is left out. */
async function* textOf(input: Bytes, name: string): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of input) {
      yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? new UsageError(`${name} is not UTF-8`) : error;
  }
}

/** The lines of a text. At most one piece and one line are in memory. */
export async function* linesOf(input: Bytes, name: string): AsyncGenerator<Line, void, undefined> {
  let rest = '';
  let number = 0;
  for await (const piece of textOf(input, name)) {
    const parts = (rest + piece).split('\n');
    rest = parts.pop() ?? '';
    for (const text of parts) yield bounded({ number: ++number, text: text.replace(/\r$/, '') }, name);
    bounded({ number: number + 1, text: rest }, name);
  }
  if (rest !== '') yield bounded({ number: number + 1, text: rest.replace(/\r$/, '') }, name);
}

function bounded(line: Line, name: string): Line {
  if (line.text.length > MAX_LINE) {
    throw new UsageError(`line ${line.number} of ${name} is longer than ${MAX_LINE} characters`);
  }
  return line;
}

/** The fields of one row of a CSV or TSV file. */
export interface TextRecord {
  /** The line where the record begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Longer records are no entries. */
const MAX_RECORD = 2 ** 17;

/**
 * The records of a CSV file after RFC 4180: a field in quotes may contain the separator, line breaks and doubled quotes.
 * At most one piece and one record are in memory.
 */
export async function* csvRecords(input: Bytes, name: string): AsyncGenerator<TextRecord, void, undefined> {
  const parser = new CsvParser(name);
  for await (const piece of textOf(input, name)) yield* parser.read(piece);
  yield* parser.end();
}

type State = 'start' | 'plain' | 'quoted' | 'quote';

class CsvParser {
  private state: State = 'start';
  private field = '';
  private fields: string[] = [];
  private size = 0;
  private line = 1;
  private firstLine = 1;

  constructor(private readonly name: string) {}

  *read(piece: string): Generator<TextRecord, void, undefined> {
    for (const char of piece) {
      if (++this.size > MAX_RECORD) this.fail(`is longer than ${MAX_RECORD} characters`);
      if (char === '\n') this.line += 1;
      if (this.state === 'quoted') {
        if (char === '"') this.state = 'quote';
        else this.field += char;
      } else if (char === '\n') {
        yield* this.record();
      } else {
        this.outside(char);
      }
    }
  }

  *end(): Generator<TextRecord, void, undefined> {
    if (this.state === 'quoted') this.fail('has a quote without an end');
    if (this.size > 0) yield* this.record();
  }

  private outside(char: string): void {
    if (char === ',') this.endField();
    else if (char === '"' && this.state === 'start') this.state = 'quoted';
    else if (char === '"' && this.state === 'quote') {
      this.field += char;
      this.state = 'quoted';
    } else if (this.state === 'quote') {
      // The end of a line may be \r\n.
      if (char !== '\r') this.fail('has text after the end of a quote');
    } else {
      this.field += char;
      this.state = 'plain';
    }
  }

  private endField(): void {
    this.fields.push(this.field);
    this.field = '';
    this.state = 'start';
  }

  private *record(): Generator<TextRecord, void, undefined> {
    if (this.state === 'plain') this.field = this.field.replace(/\r$/, '');
    this.endField();
    const { fields, firstLine } = this;
    this.fields = [];
    this.size = 0;
    this.firstLine = this.line;
    // An empty line.
    if (fields.length > 1 || fields[0] !== '') yield { line: firstLine, fields };
  }

  private fail(problem: string): never {
    throw new UsageError(`the record at line ${this.firstLine} of ${this.name} ${problem}`);
  }
}

/** The bytes of a file, which is opened by the first read. Rejects with a UsageError if a read fails. */
export async function* fileBytes(file: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const piece of await openFile(file)) yield piece as Buffer;
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** A read of a pipe as a file would hold a thread until the writer writes, and the process could not end. */
async function openFile(file: string): Promise<AsyncIterable<unknown>> {
  if (!statSync(file).isFIFO()) return createReadStream(file);
  const fd = await promisify(open)(file, 'r');
  return new Socket({ fd, readable: true, writable: false });
}

export function unreadable(file: string, error: unknown): UsageError {
  return new UsageError(`${file} cannot be read: ${(error as Error).message}`);
}

/**
 * The bytes of a pipe or a terminal, whose writer may keep silent. Rejects with the signal's reason when the signal aborts.
 * The read that is open then stays open, because a read of a pipe cannot be ended.
 */
export async function* interruptible(
  input: Bytes,
  signal: AbortSignal,
): AsyncGenerator<Buffer | string, void, undefined> {
  const pieces = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await unlessAborted(pieces.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}
