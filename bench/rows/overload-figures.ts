import type { AttackReport } from '../../test/support/attacks/attack';
import type { BystanderCounts } from '../../test/support/attacks/bystanders';
import type { Latencies } from '../load/bystanders';
import type { LoopDelay } from '../support/bench-service';
import { figure, tableLine, type Figure } from '../support/figures';
import { sum } from '../support/statistics';
import { disturbed, listed, totalOf, type Counts } from '../support/watched';

/** The effects of an attack on a server and on its other clients. */
export interface Damage {
  readonly attack: string;
  readonly report: AttackReport;
  readonly bystanders: BystanderCounts;
  /** The innocent client before the attack, during the attack, and from a moment after its end. */
  readonly before: Latencies;
  readonly during: Latencies;
  readonly after: Latencies;
  /** The delay of the server's event loop during the attack. */
  readonly loop: LoopDelay;
  /** The server's resident memory (bytes). */
  readonly memory: {
    readonly before: number;
    readonly peak: number;
    readonly after: number;
    readonly collected: number;
  };
  /** The use of the processor during the attack. 1 is a whole core. */
  readonly cores: { readonly server: number; readonly redis: number };
}

const MEGABYTE = 1e6;
/** The bound of the innocent client's p99 during and after an attack: this time, or 3 × the p99 before. */
const BOUND_MS = 50;
const BOUND_FACTOR = 3;

function boundOf({ before }: Damage): number {
  return Math.max(BOUND_MS, BOUND_FACTOR * before.p99);
}

function judged(damage: Damage, ms: number): string {
  return ms <= boundOf(damage) ? '' : `(over ${Math.round(boundOf(damage))})`;
}

function summary(damages: readonly Damage[]): Figure[] {
  const count = (what: string, of: (damage: Damage) => number) =>
    figure(what, '', sum(damages.map(of)), { most: 0 });
  const over = 'attacks with an innocent p99 over max(50 ms, 3 × before)';
  return [
    count('streams told LOST, or late, or ended, in all attacks', ({ bystanders }) => disturbed(bystanders)),
    count('attacks with a failed call of the innocent client', (damage) =>
      Number(totalOf(failuresOf(damage)) > 0),
    ),
    count(`${over} during the attack`, (damage) => Number(damage.during.p99 > boundOf(damage))),
    count(`${over} from 2 s after its end`, (damage) => Number(damage.after.p99 > boundOf(damage))),
  ];
}

function failuresOf({ before, during, after }: Damage): Counts {
  const failures: Record<string, number> = {};
  for (const phase of [before, during, after]) {
    for (const [what, count] of Object.entries(phase.failures)) {
      failures[what] = (failures[what] ?? 0) + count;
    }
  }
  return failures;
}

function othersLine(damage: Damage): Figure[] {
  const { bystanders, before, during, after } = damage;
  return tableLine('other clients', damage.attack, {
    LOST: listed(bystanders.lost),
    late: bystanders.late,
    ended: listed(bystanders.ended),
    'p50 before': [before.p50, 'ms'],
    'p99 before': [before.p99, 'ms'],
    'p50 during': [during.p50, 'ms'],
    'p99 during': [during.p99, 'ms', judged(damage, during.p99)],
    'max during': [during.max, 'ms'],
    'p50 after': [after.p50, 'ms'],
    'p99 after': [after.p99, 'ms', judged(damage, after.p99)],
    failed: listed(failuresOf(damage)),
  });
}

function serverLine({ attack, memory, loop, cores }: Damage): Figure[] {
  return tableLine('server', attack, {
    'memory before': [memory.before / MEGABYTE, 'MB'],
    peak: [memory.peak / MEGABYTE, 'MB'],
    after: [memory.after / MEGABYTE, 'MB'],
    'after a garbage collection': [memory.collected / MEGABYTE, 'MB'],
    'loop delay p99': [loop.p99, 'ms'],
    'loop delay max': [loop.max, 'ms'],
    'cores of the server': cores.server,
    'cores of Redis': cores.redis,
  });
}

function attackerLine({ attack, report }: Damage): Figure[] {
  const { connections, outcomes, sentAfterMs } = report;
  return tableLine('attacker', attack, {
    connections,
    calls: totalOf(outcomes),
    'all sent after': sentAfterMs === undefined ? undefined : [sentAfterMs, 'ms'],
    ...Object.fromEntries(Object.entries(outcomes).sort(([, a], [, b]) => b - a)),
  });
}

export function overloadFigures(damages: readonly Damage[]): Figure[] {
  return [
    ...summary(damages),
    ...damages.flatMap(othersLine),
    ...damages.flatMap(serverLine),
    ...damages.flatMap(attackerLine),
  ];
}
