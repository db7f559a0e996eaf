import { UsageError } from '../exit-codes';
import { textOf, type Bytes } from './lines';

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
