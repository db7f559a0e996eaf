/**
 * The index records of an entry, computed from its forms. This is a second implementation of
 * src/redis/scripts/autocomplete/shared/records.lua, so that tests find a mistake in one of the two. All strings are
 * bytes (latin1), so their order is the order of Redis.
 */

const RANK_BYTES = 40;
const GRAM_RANK_BYTES = 6;
const WORD_BYTES = 56;
const LEFT_OUT = 6;
const TYPO_CHARACTERS = 14;

/** A stored entry: the order code, the forms and the other fields, unpacked. */
export interface KeptEntry {
  readonly number: string;
  readonly code: string;
  readonly forms: string;
  readonly id: string;
  readonly score: number;
}

/** Encodes a score: 8 minus the number of bytes, then the inverted bytes of the score. */
export function orderCode(score: number): string {
  const bytes: number[] = [];
  for (let left = score; left > 0; left = Math.floor(left / 256)) bytes.unshift(255 - (left % 256));
  return String.fromCharCode(8 - bytes.length, ...bytes);
}

/** The logarithm of a score in two bytes, in units of 1/1024. Linear between powers of two, and rounded down. */
function heightOf(score: number): string {
  let height = 0;
  if (score > 0) {
    let power = 0;
    while (2 ** (power + 1) <= score) power += 1;
    height = power * 1024 + Math.floor((score / 2 ** power - 1) * 1024) + 1;
  }
  return String.fromCharCode(height >> 8, height & 255);
}

export function recordsOf({ code, forms, number, score }: KeptEntry, typos: boolean): Set<string> {
  const records = new Set<string>();
  const all = forms.slice(1, -1).split('\x03\x02');
  const text = (all[0] ?? '').replaceAll('\x01', '');
  const tail = `\0${number}`;
  const rank = `\0${code}${text.slice(0, RANK_BYTES)}${tail}`;
  const gramRank = `\0${code}${text.slice(0, GRAM_RANK_BYTES)}`;
  records.add(`a${rank}`);
  all.forEach((form, i) => {
    // Records of an alias have a mark.
    const mark = i === 0 ? '\0' : '\x01';
    const ends = {
      tail: `${tail}${heightOf(score)}${mark}`,
      rank,
      mark,
      gramRank: `${gramRank}${tail}${mark}`,
    };
    for (const record of recordsOfForm(form, typos, ends)) records.add(record);
  });
  return records;
}

interface Ends {
  readonly tail: string;
  readonly rank: string;
  readonly mark: string;
  readonly gramRank: string;
}

function* recordsOfForm(
  form: string,
  typos: boolean,
  { tail, rank, mark, gramRank }: Ends,
): Generator<string> {
  const characters: string[] = [];
  const starts: number[] = [];
  for (const character of Buffer.from(form, 'latin1').toString()) {
    if (character === '\x01') starts.push(characters.length);
    else characters.push(Buffer.from(character).toString('latin1'));
  }
  const cut = (from: number, to: number) => characters.slice(from, to).join('');
  yield `f${cut(0, characters.length)}${tail}`;
  for (const start of [0, ...starts]) {
    for (let length = 1; length <= 3 && start + length <= characters.length; length += 1) {
      yield `${start === 0 ? 'p' : 'w'}${cut(start, start + length)}${rank}${start === 0 ? mark : ''}`;
    }
  }
  for (const start of starts) yield `v${cut(start, characters.length).slice(0, WORD_BYTES)}${tail}`;
  const last = typos ? Math.min(characters.length, LEFT_OUT) : 0;
  for (let i = 2; i <= last; i += 1) {
    yield `d${String.fromCharCode(i)}${cut(0, i - 1)}${cut(i, TYPO_CHARACTERS)}${tail}`;
  }
  const withEnd = [...characters, '\x03'];
  for (let i = 0; i < characters.length; i += 1) {
    const before = (withEnd[i - 1] ?? '\x02').slice(-1);
    const after = (withEnd[i + 3] ?? '\x03').slice(-1);
    yield `g${withEnd.slice(i, i + 3).join('')}${gramRank}${before}${after}`;
  }
}
