import { availableParallelism } from 'node:os';
import type { Attempt } from './attempt';
import type { Case } from './case-file';
import type { Language } from './languages';

/** A case mostly waits, so a core serves several. More than this many a core make the drivers late. */
const CASES_PER_CORE = 6;
/** One thread serves the scripted servers of all cases. */
const MAX_CASES = 24;

export interface Run {
  readonly one: Case;
  readonly language: Language;
}

/** How many cases run at once, unless the caller says so. */
export function defaultJobs(cores = availableParallelism()): number {
  return Math.min(MAX_CASES, cores * CASES_PER_CORE);
}

/**
 * The runs in the order of their starts. The cases with real faults take longest, so they come first. The languages take
 * turns, because the start of a process costs more in some languages.
 */
export function runsOf(cases: readonly Case[], languages: readonly Language[], times: number): Run[] {
  const longestFirst = [
    ...cases.filter(({ set }) => set === 'faults'),
    ...cases.filter(({ set }) => set !== 'faults'),
  ];
  return Array.from({ length: times }, () =>
    longestFirst.flatMap((one) => languages.map((language) => ({ one, language }))),
  ).flat();
}

/** The attempts by language, in the order of `languages`, then by case. The order of their ends means nothing. */
export function inOrder(attempts: readonly Attempt[], languages: readonly Language[]): Attempt[] {
  const place = new Map(languages.map(({ name }, index) => [name, index]));
  const placeOf = ({ language }: Attempt): number => place.get(language) ?? languages.length;
  return [...attempts].sort((a, b) => placeOf(a) - placeOf(b) || (a.id < b.id ? -1 : Number(a.id > b.id)));
}
