import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../support/root';
import type { Catch } from '../mutants/hunt';
import type { RoundOutcome } from '../round';
import type { RunReport } from './run-report';

/** Below the project's folder, and not committed. */
export const KEPT = join('.holdfast', 'faults');

/** Keeps the history of a round that failed, one event a line; the file, from the project's folder. */
export function keepHistory({ plan, history }: RoundOutcome): string {
  const text = history.map((event) => `${JSON.stringify(event)}\n`).join('');
  return keep(`history-${plan.seed}.jsonl`, text);
}

export function keepReport(report: RunReport): string {
  return keep(`run-${report.topology}-${report.seed}.json`, `${JSON.stringify(report, null, 2)}\n`);
}

export function keepCatch(caught: Catch): void {
  keep(`mutant-${caught.mutant}.json`, `${JSON.stringify(caught, null, 2)}\n`);
}

function keep(name: string, text: string): string {
  mkdirSync(join(ROOT, KEPT), { recursive: true });
  writeFileSync(join(ROOT, KEPT, name), text);
  return join(KEPT, name);
}
