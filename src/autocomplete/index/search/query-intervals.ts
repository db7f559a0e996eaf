import { endOfWhole, intervalOf, type Interval } from './interval';
import type { SortedPositions, SuffixIndex } from '../layer/layer';
import {
  AND_AT_END,
  AT_BEGINNING,
  AT_OTHER_CHARACTER,
  AT_WORD_START,
  type KindNumber,
  type Query,
} from './query';
import { STEPS, type Work } from '../work';

/** The elements of one list at which the form continues with the query. */
interface ListInterval {
  readonly whole: Interval;
  /** At the elements before `lastEnd`, the form ends after the query. */
  readonly lastEnd: number;
}

/**
 * The intervals of a query in the three sorted lists of a layer. Each place of the query in a form is an element of one
 * interval. Elements of one list differ in their kind only by whether the form ends after the query.
 */
export class QueryIntervals {
  /** By the place of the list's elements: AT_BEGINNING, AT_WORD_START or AT_OTHER_CHARACTER. */
  readonly #known: (ListInterval | undefined)[] = [];

  constructor(
    private readonly index: SuffixIndex,
    private readonly query: Query,
    private readonly work: Work,
  ) {}

  /** The places with this best kind. An entry may have places of better kinds too. */
  ofKind(kind: KindNumber): readonly Interval[] {
    const { beginnings, wordStarts, otherStarts } = this.index;
    const intervals: Interval[] = [];
    this.#addOfKind(kind, AT_BEGINNING, beginnings, intervals);
    this.#addOfKind(kind, AT_WORD_START, wordStarts, intervals);
    this.#addOfKind(kind, AT_OTHER_CHARACTER, otherStarts, intervals);
    return intervals;
  }

  #addOfKind(kind: KindNumber, place: number, list: SortedPositions, intervals: Interval[]): void {
    const { kindByPlace } = this.query;
    const atEnd = kindByPlace[place + AND_AT_END] === kind;
    const elsewhere = kindByPlace[place] === kind;
    if (!atEnd && !elsewhere) return;
    const { whole, lastEnd } = this.#intervalIn(place, list);
    const from = atEnd ? whole.from : lastEnd;
    const to = elsewhere ? whole.to : lastEnd;
    if (from < to) intervals.push({ list, from, to });
  }

  #intervalIn(place: number, list: SortedPositions): ListInterval {
    const known = this.#known[place];
    if (known) return known;
    const { forms } = this.index;
    const whole = intervalOf(forms, list, this.query.bytes);
    const found = { whole, lastEnd: endOfWhole(forms, whole, this.query.bytes.length) };
    this.#known[place] = found;
    this.work.spend(STEPS.halving * HALVINGS_OF_AN_INTERVAL * Math.log2(list.positions.length + 1));
    return found;
  }
}

/** Two binary searches for the ends of the interval, and a cheaper one for `lastEnd`. */
const HALVINGS_OF_AN_INTERVAL = 2.5;
