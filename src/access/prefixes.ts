/**
 * Values by prefix. `find` returns the value of the longest prefix of a name, and makes no objects. Texts are compared
 * by UTF-16 units. For well-formed texts the result is that of a comparison of their bytes in UTF-8.
 */
export class PrefixTable {
  /** In ascending order. */
  private readonly prefixes: readonly string[];
  private readonly values: readonly number[];
  /** For each prefix, the index of the longest other prefix that it begins with, or -1. */
  private readonly shorter: readonly number[];

  /** @param values no value is `none` */
  constructor(
    values: ReadonlyMap<string, number>,
    private readonly none: number,
  ) {
    const entries = [...values].sort(([one], [other]) => (one < other ? -1 : 1));
    this.prefixes = entries.map(([prefix]) => prefix);
    this.values = entries.map(([, value]) => value);
    const shorter: number[] = [];
    for (const [index, prefix] of this.prefixes.entries()) {
      shorter.push(this.beginningOf(prefix, index - 1, shorter));
    }
    this.shorter = shorter;
  }

  /** The value of the longest prefix of `name`, or `none`. */
  find(name: string): number {
    const index = this.beginningOf(name, this.lastUpTo(name), this.shorter);
    return this.values[index] ?? this.none;
  }

  /** Each prefix with its value, and with the value of the longest other prefix that it begins with. */
  *entries(): Generator<{ readonly prefix: string; readonly value: number; readonly around: number }> {
    for (const [index, prefix] of this.prefixes.entries()) {
      const around = this.values[this.shorter[index] as number] ?? this.none;
      yield { prefix, value: this.values[index] as number, around };
    }
  }

  /** Whether any prefix has a value like this. */
  some(predicate: (value: number) => boolean): boolean {
    return this.values.some(predicate);
  }

  /** The last prefix that is not greater than `name`. Every prefix of `name` is this prefix, or a beginning of it. */
  private lastUpTo(name: string): number {
    const { prefixes } = this;
    let [low, high] = [0, prefixes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((prefixes[middle] as string) <= name) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  private beginningOf(text: string, index: number, shorter: readonly number[]): number {
    let found = index;
    while (found >= 0 && !text.startsWith(this.prefixes[found] as string)) found = shorter[found] as number;
    return found;
  }
}

/** A prefix of the rules, and whether its names are allowed. */
export interface RulePrefix {
  readonly prefix: string;
  readonly isAllowed: boolean;
  /** Whether the surrounding names are allowed: the names of the longest other prefix with which this prefix begins. */
  readonly isAllowedAround: boolean;
}

interface Place {
  /** The bytes before which the place lies. */
  readonly before: Buffer;
  readonly text: string;
}

/** No UTF-8 text contains this byte, and the byte follows all others. */
const AFTER_ALL = Buffer.from([255]);
const LAST_CHARACTER = '\u{10FFFF}';

/**
 * The places in the order of names (bytes of UTF-8) at which allowed names begin: at an allowed prefix, and behind a
 * denied prefix among allowed names.
 */
export class AllowedPlaces {
  /** In ascending order. */
  private readonly places: readonly Place[];

  constructor(prefixes: Iterable<RulePrefix>) {
    const places: Place[] = [];
    for (const { prefix, isAllowed, isAllowedAround } of prefixes) {
      const bytes = Buffer.from(prefix);
      if (isAllowed) places.push({ before: bytes, text: placeBefore(prefix) });
      else if (isAllowedAround) {
        places.push({ before: Buffer.concat([bytes, AFTER_ALL]), text: prefix + LAST_CHARACTER });
      }
    }
    this.places = places.sort((one, other) => Buffer.compare(one.before, other.before));
  }

  /**
   * A place behind a name that is not allowed: no allowed name lies between the name and the place. Undefined: no
   * allowed name follows.
   */
  next(name: string): string | undefined {
    const bytes = Buffer.from(name);
    let [low, high] = [0, this.places.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare((this.places[middle] as Place).before, bytes) <= 0) low = middle + 1;
      else high = middle;
    }
    const text = this.places[low]?.text;
    if (text === undefined) return undefined;
    return Buffer.compare(Buffer.from(text), bytes) > 0 ? text : name;
  }
}

/** A text shortly before a prefix, because no text comes immediately before another text. */
function placeBefore(prefix: string): string {
  const last = [...prefix].at(-1) ?? '';
  const rest = prefix.slice(0, prefix.length - last.length);
  const code = last.codePointAt(0) ?? 0;
  if (code === 0) return rest;
  // The code points 0xD800 to 0xDFFF are no characters.
  return rest + String.fromCodePoint(code === 0xe000 ? 0xd7ff : code - 1) + LAST_CHARACTER;
}
