import type { AttackReport } from '../../test/support/attacks/attack';
import type { BystanderCounts } from '../../test/support/attacks/bystanders';
import type { Latencies } from '../load/bystanders';
import type { LoopDelay } from '../support/loop-monitor';
import { Cells } from './cells';
import { disturbed, listed, sum } from './counts';
import { figure } from './figure';
import type { Figure } from './row';

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
  const count = (what: string, of: (damage: Damage) => number): Figure =>
    figure(what, '', [damages.reduce((total, damage) => total + of(damage), 0)], { most: 0 });
  return [
    count('streams told LOST, or late, or ended, in all attacks', ({ bystanders }) => disturbed(bystanders)),
    count('attacks with a failed call of the innocent client', ({ before, during, after }) =>
      [before, during, after].some(({ failures }) => sum(failures) > 0) ? 1 : 0,
    ),
    count('attacks with an innocent p99 over max(50 ms, 3 × before) during the attack', (damage) =>
      damage.during.p99 > boundOf(damage) ? 1 : 0,
    ),
    count('attacks with an innocent p99 over max(50 ms, 3 × before) from 2 s after its end', (damage) =>
      damage.after.p99 > boundOf(damage) ? 1 : 0,
    ),
  ];
}

function othersLine(damage: Damage): Figure[] {
  const { bystanders, before, during, after } = damage;
  const failures = { ...before.failures };
  for (const more of [during.failures, after.failures]) {
    for (const [what, count] of Object.entries(more)) failures[what] = (failures[what] ?? 0) + count;
  }
  return new Cells('other clients', damage.attack)
    .add('LOST', sum(bystanders.lost), '', listed(bystanders.lost))
    .add('late', bystanders.late)
    .add('ended', sum(bystanders.ended), '', listed(bystanders.ended))
    .add('p50 before', before.p50, 'ms')
    .add('p99 before', before.p99, 'ms')
    .add('p50 during', during.p50, 'ms')
    .add('p99 during', during.p99, 'ms', judged(damage, during.p99))
    .add('max during', during.max, 'ms')
    .add('p50 after', after.p50, 'ms')
    .add('p99 after', after.p99, 'ms', judged(damage, after.p99))
    .add('failed', sum(failures), '', listed(failures)).figures;
}

function serverLine({ attack, memory, loop, cores }: Damage): Figure[] {
  return new Cells('server', attack)
    .add('memory before', memory.before / MEGABYTE, 'MB')
    .add('peak', memory.peak / MEGABYTE, 'MB')
    .add('after', memory.after / MEGABYTE, 'MB')
    .add('after a garbage collection', memory.collected / MEGABYTE, 'MB')
    .add('loop delay p99', loop.p99, 'ms')
    .add('loop delay max', loop.max, 'ms')
    .add('cores of the server', cores.server)
    .add('cores of Redis', cores.redis).figures;
}

function attackerLine({ attack, report }: Damage): Figure[] {
  const line = new Cells('attacker', attack)
    .add('connections', report.connections)
    .add('calls', sum(report.outcomes));
  if (report.sentAfterMs !== undefined) line.add('all sent after', report.sentAfterMs, 'ms');
  const outcomes = Object.entries(report.outcomes).sort(([, a], [, b]) => b - a);
  for (const [outcome, count] of outcomes) line.add(outcome, count);
  return line.figures;
}

export function overloadFigures(damages: readonly Damage[]): Figure[] {
  return [
    ...summary(damages),
    ...damages.flatMap(othersLine),
    ...damages.flatMap(serverLine),
    ...damages.flatMap(attackerLine),
  ];
}
