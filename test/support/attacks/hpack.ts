/**
 * The part of HPACK (RFC 7541) that an attacker needs: the header block of a gRPC request, and the status in the
 * trailers of an answer. The decoder expects a server that was told to use no dynamic table.
 */

/** The characters with a Huffman code of at most 15 bits, by the length of the code, in the order of their codes. */
const HUFFMAN_SYMBOLS: readonly (readonly [bits: number, symbols: string])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\0$@[]~'],
  [14, '^}'],
  [15, '<`{'],
];
const LONGEST_CODE = 15;

/** From a code with a 1 in front, which keeps its leading zeros, to the character. */
const CHARACTERS = new Map<number, string>();
{
  let code = 0;
  let length = 0;
  for (const [bits, symbols] of HUFFMAN_SYMBOLS) {
    code <<= bits - length;
    length = bits;
    for (const symbol of symbols) CHARACTERS.set((1 << bits) | code++, symbol);
  }
}

function unhuffman(bytes: Buffer): string {
  let text = '';
  let code = 1;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      code = (code << 1) | ((byte >> bit) & 1);
      const character = CHARACTERS.get(code);
      if (character !== undefined) {
        text += character;
        code = 1;
      } else if (code >= 2 << LONGEST_CODE) {
        return `${text}…`; // A rare character. The rest is not needed.
      }
    }
  }
  return text;
}

const LARGEST_PREFIX = 0x7f;

/** A string without a Huffman code. Its length, from 127, has further bytes of 7 bits each, the lowest bits first. */
function literal(text: string): Buffer {
  const head = [Math.min(text.length, LARGEST_PREFIX)];
  if (text.length >= LARGEST_PREFIX) {
    let rest = text.length - LARGEST_PREFIX;
    for (; rest >= 0x80; rest >>>= 7) head.push((rest & 0x7f) | 0x80);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), Buffer.from(text, 'latin1')]);
}

/** The header block of a gRPC request. The block uses no dynamic table, so each call can send the same bytes. */
export function requestHeaders(
  path: string,
  authority: string,
  more: readonly (readonly [name: string, value: string])[] = [],
): Buffer {
  const POST = 0x83;
  const HTTP = 0x86;
  const [PATH, AUTHORITY] = [0x04, 0x01];
  return Buffer.concat([
    ...[Buffer.of(POST, HTTP, PATH), literal(path), Buffer.of(AUTHORITY), literal(authority)],
    ...[Buffer.of(0), literal('content-type'), literal('application/grpc')],
    ...[Buffer.of(0), literal('te'), literal('trailers')],
    ...more.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  ]);
}

/** The decoded text of each string so far. The names and values that are read are few. */
const texts = new Map<string, string>();

class BlockReader {
  private at = 0;

  constructor(private readonly block: Buffer) {}

  get atEnd(): boolean {
    return this.at >= this.block.length;
  }

  peek(): number {
    return this.block[this.at] ?? 0;
  }

  integer(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = this.peek() & most;
    this.at += 1;
    if (value < most) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.peek();
      this.at += 1;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  /** The bytes of a string, with a 1 in front for a Huffman code. Reading the text is left to `textOf`. */
  string(): { readonly huffman: boolean; readonly bytes: Buffer } {
    const huffman = this.peek() >= 0x80;
    const length = this.integer(7);
    const bytes = this.block.subarray(this.at, this.at + length);
    this.at += length;
    return { huffman, bytes };
  }
}

function textOf({ huffman, bytes }: { readonly huffman: boolean; readonly bytes: Buffer }): string {
  if (!huffman) return bytes.toString('latin1');
  const key = bytes.toString('latin1');
  let text = texts.get(key);
  if (text === undefined) texts.set(key, (text = unhuffman(bytes)));
  return text;
}

/** The values of the wanted headers that a block has as literals. Values of other headers are skipped. */
export function readHeaders(block: Buffer, wanted: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  const reader = new BlockReader(block);
  while (!reader.atEnd) {
    const first = reader.peek();
    if (first >= 0x80) {
      reader.integer(7); // A header of the static table.
    } else if ((first & 0xe0) === 0x20) {
      reader.integer(5); // A new size of the dynamic table.
    } else {
      const index = reader.integer(first >= 0x40 ? 6 : 4);
      const name = index === 0 ? textOf(reader.string()) : '';
      const value = reader.string();
      if (wanted.includes(name)) found.set(name, textOf(value));
    }
  }
  return found;
}
