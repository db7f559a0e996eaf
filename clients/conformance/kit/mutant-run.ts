import { attempt } from './attempt';
import type { Case } from './case-file';
import type { Language } from './languages';
import { buildMutant, type BuiltMutant } from './mutant-build';
import type { Mutant } from './mutants';

/**
 * - `passed`, `FAILED`: a case with the unchanged client.
 * - `caught`: each case of the mutant fails. `SURVIVED`: a case passes.
 * - `BROKEN`: the mutant cannot be built, or its driver does not start, so the cases say nothing.
 */
export type MutantOutcome = 'passed' | 'FAILED' | 'caught' | 'SURVIVED' | 'BROKEN';

export interface Verdict {
  readonly name: string;
  readonly outcome: MutantOutcome;
  /** Why. A line for each case. */
  readonly reasons: readonly string[];
  readonly ms: number;
}

type Judged = Pick<Verdict, 'outcome' | 'reasons'>;

export function isBad({ outcome }: Verdict): boolean {
  return outcome !== 'passed' && outcome !== 'caught';
}

/**
 * Runs each case of the mutants with the unchanged client, which must pass, and each mutant, which must be caught.
 * `tell` is called for each verdict.
 */
export async function runMutants(
  mutants: readonly Mutant[],
  client: Language,
  jobs: number,
  tell: (verdict: Verdict) => void,
): Promise<Verdict[]> {
  const cases = new Set(mutants.flatMap((mutant) => mutant.cases));
  const waiting = [
    ...mutants.map((mutant) => ({ name: mutant.name, judge: () => judgeMutant(mutant) })),
    ...[...cases].map((one) => ({ name: one.id, judge: () => judgeCase(one, client) })),
  ];
  const verdicts: Verdict[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const started = performance.now();
      const judged = await next.judge();
      const verdict = { name: next.name, ...judged, ms: Math.round(performance.now() - started) };
      verdicts.push(verdict);
      tell(verdict);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return verdicts;
}

/** A mutant is caught by a case only if the case passes without the mutant. */
async function judgeCase(one: Case, client: Language): Promise<Judged> {
  const { outcome, problem } = await attempt(one, client);
  return outcome === 'passed'
    ? { outcome: 'passed', reasons: [] }
    : { outcome: 'FAILED', reasons: [`${one.id} fails without a mutant: ${problem}`] };
}

async function judgeMutant(mutant: Mutant): Promise<Judged> {
  let built: BuiltMutant;
  try {
    built = await buildMutant(mutant);
  } catch (error) {
    return { outcome: 'BROKEN', reasons: [(error as Error).message] };
  }
  try {
    return await judgeBuilt(mutant, built);
  } finally {
    await built.remove();
  }
}

async function judgeBuilt({ name, cases }: Mutant, { start }: BuiltMutant): Promise<Judged> {
  const reasons: string[] = [];
  let outcome: MutantOutcome = 'caught';
  for (const one of cases) {
    const { problem, transcript } = await attempt(one, { name, start, knownFailures: new Map() });
    reasons.push(`${one.id}: ${problem === '' ? 'passes' : problem}`);
    if (!transcript.some((line) => line.includes('"ready":true'))) outcome = 'BROKEN';
    else if (problem === '') outcome = 'SURVIVED';
  }
  return { outcome, reasons };
}

export function mutantLines({ name, outcome, reasons, ms }: Verdict): string {
  const shown = reasons.map((reason) => `\n    ${reason.length > 200 ? `${reason.slice(0, 200)}…` : reason}`);
  return `${outcome.padEnd(8)}  ${name}  ${ms} ms${shown.join('')}`;
}

export function mutantSummary(verdicts: readonly Verdict[]): string {
  const count = (...outcomes: MutantOutcome[]): number =>
    verdicts.filter(({ outcome }) => outcomes.includes(outcome)).length;
  const bad = verdicts.filter(isBad).map(({ name, outcome }) => `\n${outcome}: ${name}`);
  const mutants = `${count('caught')} caught, ${count('SURVIVED')} survived, ${count('BROKEN')} broken`;
  const cases = `${count('passed')} passed, ${count('FAILED')} failed`;
  return `mutants: ${mutants}\ntheir cases without a mutant: ${cases}${bad.join('')}`;
}
