import { UsageError } from '../exit-codes';

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
export async function* textOf(input: Bytes, name: string): AsyncGenerator<string, void, undefined> {
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
