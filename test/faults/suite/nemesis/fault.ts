import type { Random } from '../../../support/random';
import type { RoundPlan, Topology } from '../plan';
import type { Stage } from '../stage';

/** What a fault did, in numbers; where all are 0 it changed nothing, and does not count. */
export type Did = Readonly<Record<string, number>>;

/** What two faults cannot do something to at the same time. */
export type Touched = 'store' | 'store link' | 'client link' | 'clients' | 'clock';

export interface Fault {
  /** In a few words, for the report. */
  readonly about: string;
  readonly touches: readonly Touched[];
  /** What a round must have for it. */
  readonly needs?: 'store proxy' | 'client proxy' | 'clocks';
  /** Writes that were acknowledged are gone after it. */
  readonly forgets?: boolean;
  /** Grants pause for a quarantine after it, or may. */
  readonly pauses?: (round: Pick<RoundPlan, 'topology' | 'appendfsync'>) => boolean;
  /** Where it can be done; default: everywhere. */
  readonly topologies?: readonly Topology[];
  /** With which of Redis's settings it can happen; default: with all. */
  readonly appendfsyncs?: readonly RoundPlan['appendfsync'][];
  /** How often it is drawn beside the others; default 1. */
  readonly weight?: number;
  /** Does it, undoes it, and says what it did; undefined: there was nothing to do it to. */
  readonly carryOut: (stage: Stage, random: Random) => Promise<Did | undefined>;
}

export const SECOND_US = 1_000_000;
