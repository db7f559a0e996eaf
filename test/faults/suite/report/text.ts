import type { MutantResult } from '../mutants/run-mutant';
import type { Effect } from '../nemesis/fault';
import { faultOf } from '../nemesis/faults';
import type { FailedRound, RunReport } from './run-report';
import type { FaultTally } from './tally';

/** Formats a run's report for the terminal. */
export function reportText(report: RunReport): string {
  const {
    seconds,
    operations,
    refused,
    grants,
    streamEvents,
    shared = 0,
    stalledMs,
    rounds,
    failed,
  } = report;
  const answered = operations - refused;
  return [
    `${rounds} rounds in ${Math.round(seconds)} s: ${operations} operations, ${refused} of them refused for a fault, ` +
      `${answered} answered (${Math.round(answered / Math.max(1, seconds))} per second); ${grants} grants, ${streamEvents} stream events`,
    `${shared} operations shared a command to Redis${shared === 0 ? ', so the run proves nothing of batches' : ''}`,
    `the runner was not scheduled for ${(stalledMs / 1000).toFixed(1)} s`,
    '',
    ...report.faults.map(faultText),
    '',
    failed.length === 0 ? 'no violation' : `${failed.length} rounds with violations:`,
    ...failed.map(failureText),
  ].join('\n');
}

function faultText(tally: FaultTally): string {
  const { fault, drawn, counted, effect, felt, firstGrantMs, allGrantedMs } = tally;
  const recovered = `next grant after ${range(firstGrantMs)}, all names after ${range(allGrantedMs)}`;
  return [
    `${fault} (${faultOf(fault).about}): ${counted} of ${drawn} changed something`,
    `    effect      ${list(effect)}`,
    `    on clients  ${list(felt)}`,
    `    recovery    ${recovered}`,
  ].join('\n');
}

export function failureText({ seed, violations, defects, smallest }: FailedRound): string {
  const counts = Object.entries(violations).map(([invariant, count]) => `${count} of ${invariant}`);
  return [
    `seed ${seed}: ${[...counts, ...defects].join('; ')}`,
    ...(smallest === undefined ? [] : [smallest]),
  ].join('\n');
}

export function mutantText({ mutant, about, seed, afterSeconds, by, defects }: MutantResult): string {
  if (afterSeconds === undefined) return [`NOT CAUGHT: ${mutant} (${about})`, ...defects].join('\n');
  return `${mutant} (${about}): caught after ${afterSeconds.toFixed(1)} s, seed ${seed}, by ${list(by)}`;
}

export function list(effect: Effect): string {
  const entries = Object.entries(effect).filter(([, number]) => number > 0);
  return entries.length === 0 ? 'nothing' : entries.map(([what, number]) => `${number} ${what}`).join(', ');
}

/** Formats the median and the longest time. */
export function range(all: readonly number[]): string {
  if (all.length === 0) return 'not observed';
  const sorted = [...all].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `${Math.round(median)} ms (median), ${Math.round(sorted.at(-1) ?? 0)} ms (longest)`;
}
