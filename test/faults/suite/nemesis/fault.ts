import type { Random } from '../../../support/random';
import type { RoundPlan, Topology } from '../plan';
import type { Stage } from '../stage';

/** The measured effect of a fault. If all numbers are 0, the fault had no effect and does not count. */
export type Effect = Readonly<Record<string, number>>;

/** The parts of a round that at most one fault may use at a time. */
export type Touched = 'store' | 'store link' | 'client link' | 'clients' | 'clock';

export interface Fault {
  /** A short description for the report. */
  readonly about: string;
  readonly touches: readonly Touched[];
  /** The proxies and clocks that a round needs for this fault. */
  readonly needs?: 'store proxy' | 'client proxy' | 'clocks';
  /** True if the store loses acknowledged writes. */
  readonly forgets?: boolean;
  /** True if grants may pause for a quarantine after the fault. */
  readonly pauses?: (round: Pick<RoundPlan, 'topology' | 'appendfsync'>) => boolean;
  /** The topologies in which the fault is possible. Default: all. */
  readonly topologies?: readonly Topology[];
  /** The appendfsync settings with which the fault is possible. Default: all. */
  readonly appendfsyncs?: readonly RoundPlan['appendfsync'][];
  /** The relative frequency of the fault. Default: 1. */
  readonly weight?: number;
  /** Injects the fault, undoes the fault, and measures its effect. Resolves to undefined if there was no target. */
  readonly carryOut: (stage: Stage, random: Random) => Promise<Effect | undefined>;
}

export const SECOND_US = 1_000_000;
