import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../support/root';
import type { MutantResult } from '../mutants/run-mutant';
import type { RoundOutcome } from '../round';
import type { RunReport } from './run-report';

/** The folder of saved reports and histories, relative to the project's folder. It is not committed. */
export const SAVED = join('.holdfast', 'faults');

/** Saves the history of a failed round, one event per line. Returns the path below the project's folder. */
export function saveHistory({ plan, history }: RoundOutcome): string {
  const text = history.map((event) => `${JSON.stringify(event)}\n`).join('');
  return save(`history-${plan.seed}.jsonl`, text);
}

export function saveReport(report: RunReport): string {
  return save(`run-${report.topology}-${report.seed}.json`, `${JSON.stringify(report, null, 2)}\n`);
}

export function saveMutantResult(result: MutantResult): void {
  save(`mutant-${result.mutant}.json`, `${JSON.stringify(result, null, 2)}\n`);
}

function save(name: string, text: string): string {
  mkdirSync(join(ROOT, SAVED), { recursive: true });
  writeFileSync(join(ROOT, SAVED, name), text);
  return join(SAVED, name);
}
