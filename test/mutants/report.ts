import type { Result } from './mutant-run';
import type { Mutant } from './mutations';
import { EXPLANATIONS } from './survivors';

export interface Report {
  readonly killed: number;
  readonly explained: number;
  /** Mutants that survive and are not in the list. */
  readonly unexplained: readonly Mutant[];
  /** Mutants in the list that a test kills. */
  readonly stale: readonly Mutant[];
  /** Entries of the list that name no mutant, because the script has changed. */
  readonly unknown: readonly string[];
  readonly isGood: boolean;
}

const keyOf = ({ file, change }: Pick<Mutant, 'file' | 'change'>): string => `${file}: ${change}`;

/** Compares the results of a run with the list of survivors. */
export function judge(
  results: readonly Result[],
  all: readonly Mutant[],
  explanations = EXPLANATIONS,
): Report {
  const listed = new Set(
    explanations.flatMap(({ mutants }) =>
      Object.entries(mutants).flatMap(([file, changes]) => changes.map((change) => keyOf({ file, change }))),
    ),
  );
  const isListed = ({ mutant }: Result): boolean => listed.has(keyOf(mutant));
  const killed = results.filter(({ fate }) => fate === 'killed');
  const alive = results.filter(({ fate }) => fate !== 'killed');
  const keys = new Set(all.map(keyOf));
  const unexplained = alive.filter((result) => !isListed(result)).map(({ mutant }) => mutant);
  const stale = killed.filter(isListed).map(({ mutant }) => mutant);
  const unknown = [...listed].filter((key) => !keys.has(key));
  return {
    killed: killed.length,
    explained: alive.filter(isListed).length,
    unexplained,
    stale,
    unknown,
    isGood: unexplained.length + stale.length + unknown.length === 0,
  };
}

export function reportText(
  { killed, explained, unexplained, stale, unknown }: Report,
  seconds: number,
): string {
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`${title}:`, ...items.map((item) => `  ${item}`)];
  const shown = ({ file, line, change }: Mutant): string => `${file}:${line}: ${change}`;
  return [
    ...list('survivors that survivors.ts does not explain', unexplained.map(shown)),
    ...list('mutants in survivors.ts that a test kills', stale.map(shown)),
    ...list('entries of survivors.ts that name no mutant', unknown),
    `${killed} killed, ${explained} explained survivors, ${unexplained.length} others, in ${Math.round(seconds)} s`,
  ].join('\n');
}
