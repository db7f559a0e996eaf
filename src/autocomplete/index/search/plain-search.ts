import { characterLength, codePointAt } from '../build/characters';
import { type DeadSet, type EntryTable, isDead } from '../layer/layer';
import { STEPS, type Work } from '../work';
import { rankAt } from './places';
import { ABSENT, EXACT, type KindNumber, kindOfEntry, PREFIX, type Query, SUFFIX, TYPO } from './query';
import { EditRows, MATCHES, UNDECIDED } from './typos';

/** One call of the native search passes at most this number of bytes, because the call cannot be interrupted. */
const WINDOW_BYTES = 64 * 1024;

export const NOT_FOUND = -1;
export const OUT_OF_WORK = -2;

/** Finds some bytes in the forms of a layer by the native search of Node. */
export class ByteSearch {
  readonly #forms: Buffer;
  readonly #wanted: Buffer;
  /** True if `wanted` begins with the zero byte before the form. No zero byte is before the first form. */
  readonly #atBeginning: boolean;
  /**
   * The part of the forms that the native search passes now: the bytes where `wanted` may begin, and then the length of
   * `wanted`.
   */
  #window: Buffer;
  #windowFrom = 0;

  /** Finds `bytes`: at the beginning of a form if `atBeginning`, and before the end of a form if `atEnd`. */
  constructor(
    forms: Uint8Array,
    bytes: Buffer,
    { atBeginning, atEnd }: { readonly atBeginning: boolean; readonly atEnd: boolean },
  ) {
    this.#forms = Buffer.from(forms.buffer, forms.byteOffset, forms.length);
    this.#atBeginning = atBeginning;
    this.#wanted = Buffer.concat([
      END.subarray(0, atBeginning ? 1 : 0),
      bytes,
      END.subarray(0, atEnd ? 1 : 0),
    ]);
    this.#window = this.#forms.subarray(0, WINDOW_BYTES + this.#wanted.length);
  }

  /** The first position of the bytes that is not before `from`; NOT_FOUND or OUT_OF_WORK. */
  next(from: number, work: Work): number {
    if (!this.#atBeginning) return this.#find(from, work);
    if (from > 0) {
      const zero = this.#find(from - 1, work);
      return zero < 0 ? zero : zero + 1;
    }
    const wanted = this.#wanted.subarray(1);
    if (wanted.equals(this.#forms.subarray(0, wanted.length))) return 0;
    return this.next(1, work);
  }

  #find(from: number, work: Work): number {
    let start = from;
    for (;;) {
      this.#moveWindow(start);
      const found = this.#window.indexOf(this.#wanted, start - this.#windowFrom);
      const windowEnd = this.#windowFrom + this.#window.length;
      const at = found < 0 ? NOT_FOUND : this.#windowFrom + found;
      const passed = (at === NOT_FOUND ? windowEnd : at) - start;
      if (!work.spend(STEPS.nativeSearch + passed * STEPS.nativeByte)) return OUT_OF_WORK;
      if (at !== NOT_FOUND || windowEnd === this.#forms.length) return at;
      start = windowEnd - this.#wanted.length + 1;
    }
  }

  /** Moves the window if the part before `start` is more than half of the window. */
  #moveWindow(start: number): void {
    const windowEnd = this.#windowFrom + this.#window.length;
    if (windowEnd === this.#forms.length || start - this.#windowFrom < WINDOW_BYTES / 2) return;
    this.#windowFrom = start;
    this.#window = this.#forms.subarray(start, start + WINDOW_BYTES + this.#wanted.length);
  }
}

const END = Buffer.of(0);

/** Ranks in rising order. */
export interface RanksFound {
  readonly ranks: number[];
  /** The first rank that was not searched. */
  readonly next: number;
}

/** Searches the forms of a layer from a rank upward, without sorted positions. The query must not be empty. */
export class PlainSearch {
  #editRows: EditRows | undefined;

  constructor(
    private readonly table: EntryTable,
    private readonly dead: DeadSet,
    private readonly query: Query,
    private readonly work: Work,
  ) {}

  /**
   * The entries from rank `from` that match best by this kind. Ends at the limit, or some time after `maxSteps`, or at the
   * end of the table. Undefined: the work is used up.
   */
  matches(kind: KindNumber, from: number, limit: number, maxSteps = Infinity): RanksFound | undefined {
    const { table, work } = this;
    const ranks: number[] = [];
    const bytes = this.#bytesOf(kind);
    const lastStep = work.spent + maxSteps;
    let rank = from;
    while (ranks.length < limit && rank < table.count) {
      if (work.spent > lastStep) return { ranks, next: rank };
      const at = bytes.next(table.formsAt[rank] as number, work);
      if (at === OUT_OF_WORK) return undefined;
      if (at === NOT_FOUND) return { ranks, next: table.count };
      rank = rankAt(table.formsAt, at, rank);
      const size = (table.formsAt[rank + 1] as number) - (table.formsAt[rank] as number);
      if (!work.spend(STEPS.entry + size * STEPS.formByte)) return undefined;
      if (!isDead(this.dead, rank) && this.#isMatch(rank, kind)) ranks.push(rank);
      rank += 1;
    }
    return { ranks, next: rank };
  }

  /** The first entry that contains the query; the number of entries if there is none. Undefined: the work is used up. */
  firstContaining(): number | undefined {
    const { forms, formsAt, count } = this.table;
    const anywhere = new ByteSearch(forms, this.query.bytes, { atBeginning: false, atEnd: false });
    const at = anywhere.next(0, this.work);
    if (at === OUT_OF_WORK) return undefined;
    return at === NOT_FOUND ? count : rankAt(formsAt, at);
  }

  /** Finds all entries that may match by this kind. */
  #bytesOf(kind: KindNumber): ByteSearch {
    const { bytes } = this.query;
    const firstCharacter = bytes.subarray(0, characterLength(bytes[0] as number));
    return new ByteSearch(this.table.forms, kind === TYPO ? firstCharacter : bytes, {
      atBeginning: kind === EXACT || kind === PREFIX || kind === TYPO,
      atEnd: kind === EXACT || kind === SUFFIX,
    });
  }

  #isMatch(rank: number, kind: KindNumber): boolean {
    if (kind === TYPO && !this.#hasTypo(rank)) return false;
    return kindOfEntry(this.table, rank, this.query) === (kind === TYPO ? ABSENT : kind);
  }

  #hasTypo(rank: number): boolean {
    const { forms, formsAt } = this.table;
    const end = formsAt[rank + 1] as number;
    const firstByte = this.query.bytes[0];
    for (
      let beginning = formsAt[rank] as number;
      beginning < end;
      beginning = forms.indexOf(0, beginning) + 1
    ) {
      if (forms[beginning] === firstByte && this.#isTypo(beginning)) return true;
    }
    return false;
  }

  /** As `isTypo` of match.ts, for the form at this position. */
  #isTypo(beginning: number): boolean {
    const { forms } = this.table;
    const { codePoints, maxEdits } = this.query;
    if (codePointAt(forms, beginning) !== codePoints[0]) return false;
    this.#editRows ??= new EditRows(codePoints, maxEdits);
    let at = beginning;
    for (let depth = 1; forms[at] !== 0; depth += 1) {
      const verdict = this.#editRows.add(codePointAt(forms, at), depth);
      if (verdict !== UNDECIDED) return verdict === MATCHES;
      at += characterLength(forms[at] as number);
    }
    return false;
  }
}

/**
 * Searches a small layer. Most queries occur in few small layers, so the first entry that contains the query is found
 * first, and not for each kind again.
 */
export class SmallLayerSearch {
  readonly #plain: PlainSearch;
  #firstContaining: number | undefined;

  constructor(table: EntryTable, dead: DeadSet, query: Query, work: Work) {
    this.#plain = new PlainSearch(table, dead, query, work);
  }

  /** The first entries from rank `from` that match best by this kind. Undefined: the work is used up. */
  matches(kind: KindNumber, from: number, limit: number): readonly number[] | undefined {
    if (kind === TYPO) return this.#plain.matches(kind, from, limit)?.ranks;
    this.#firstContaining ??= this.#plain.firstContaining();
    if (this.#firstContaining === undefined) return undefined;
    return this.#plain.matches(kind, Math.max(from, this.#firstContaining), limit)?.ranks;
  }
}
