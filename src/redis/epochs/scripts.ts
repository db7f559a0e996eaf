import { epochAdopt, epochEnd } from '../../../generated/redis/scripts';
import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import type { Quarantine, QuarantineCause } from '../../base/store-state';
import { type EpochGuard, type GuardedReply, HIGH, type Verdict } from '../commands';
import { script } from '../script';
import type { RedisConnection } from '../connection';
import type { AnsweringNode } from '../node/confirmations';
import type { StoreTime } from '../node/server-clock';
import type { Bounds, NodeBuckets } from './epoch-buckets';
import { type KnownRun, REPORT_VALID_MS } from './known-run';

/** Decodes the replies of the scripts that write epochs. The header comment of each script describes its reply. */

/** A pause of grants that a script found or began. */
export interface Pause {
  /** 0: grants do not pause. */
  readonly pauseMs: number;
  readonly cause: QuarantineCause;
}

export interface EndedPause extends Pause {
  /** Resolves when the replicas have this change, and all earlier changes of this run of Redis. */
  readonly confirm: () => Promise<void>;
}

export interface Adopted extends Bounds, Pause {}

/** The store has leases of another layout, and the script did nothing. */
export interface OtherLayout {
  /** The version of that layout; 0: an earlier layout without a version. */
  readonly otherLayout: number;
}

/** `late`: the script ran too late and did nothing. */
function readAdopted({ word, pauseMs, values }: GuardedReply): Adopted | OtherLayout | 'late' {
  if (word === 'STALE') return 'late';
  if (word === 'LAYOUT') return { otherLayout: Number(values[0]) };
  const [, , cause, longestMs, durability, overlapMs] = values;
  return {
    pauseMs,
    cause: cause as QuarantineCause,
    longestMs: Number(longestMs),
    durability: durability as string,
    overlapMs: Number(overlapMs),
  };
}

function readEnded({ pauseMs, values }: GuardedReply): Pause {
  const [, cause] = values;
  return { pauseMs, cause: cause as QuarantineCause };
}

/** The longest pause as a quarantine. Undefined: there was no pause. */
export function longestOf(pauses: readonly Pause[]): Quarantine | undefined {
  let longest: Quarantine | undefined;
  for (const { pauseMs, cause } of pauses) {
    if (pauseMs > (longest?.remainingMs ?? 0)) longest = { remainingMs: pauseMs, cause };
  }
  return longest;
}

const scripts = { adopt: script(epochAdopt), end: script(epochEnd) };
export const epochScripts = Object.values(scripts);

/** How often an adoption is sent if the script always runs too late. A probe precedes each repetition. */
const MOST_TRIES = 3;

/** The facts that a server sends with an adoption. */
export interface AdoptionFacts {
  /** The run of Redis for which the epochs are put in force. */
  readonly runId: string;
  /** The run that this server knew before; '': this server knew no run. */
  readonly previousRunId: string;
  /** True: a bucket without an epoch was never used. False: the store has lost the epoch, so grants pause. */
  readonly mayBeNew: boolean;
  /** How far Redis's clock was set forward (us); 0: not. */
  readonly setForwardUs: number;
}

export interface EpochScriptsOptions {
  readonly quarantineMs: number;
  readonly nodeBuckets: NodeBuckets;
  readonly clock: Clock;
  readonly connection: () => RedisConnection;
  readonly run: KnownRun;
  readonly time: StoreTime;
  /** The bounds of the epochs that are in force. */
  readonly bounds: () => Bounds;
  /** Called before an adoption fails because the store has leases of another layout. */
  readonly onOtherLayout: (layout: number) => void;
}

/** Sends the scripts that write epochs, for the known run of Redis. */
export class EpochScripts {
  private probing: Promise<void> | undefined;

  constructor(private readonly options: EpochScriptsOptions) {}

  /** Returns the facts for an adoption that is sent now. Throws if this server knows no run of the node. */
  facts(): AdoptionFacts {
    const { id, previousId, mayBeNew } = this.options.run;
    if (id === undefined) throw new StoreFailure('no', 'unavailable');
    return { runId: id, previousRunId: previousId, mayBeNew, setForwardUs: this.options.time.setForwardUs };
  }

  /** Each try asks for the source runs again, because an adoption must not use an old answer. */
  async adopt(keys: readonly string[], facts: AdoptionFacts): Promise<Adopted> {
    const { clock, nodeBuckets, connection } = this.options;
    for (let tries = 1; ; tries += 1) {
      const startedAt = clock.now();
      const sourceRuns = await nodeBuckets.sourceRuns(keys);
      const epochArguments = this.adoptArguments(facts, sourceRuns, startedAt);
      const guard = { epochArguments, epochCheck: () => undefined };
      const adoption = { run: scripts.adopt, keys, args: [], read: readAdopted, guard, turn: HIGH };
      const adopted = await connection().commands.send(adoption);
      if (adopted !== 'late') {
        if (!('otherLayout' in adopted)) return adopted;
        this.options.onOtherLayout(adopted.otherLayout);
        throw new StoreFailure('no', 'unavailable');
      }
      if (tries === MOST_TRIES) throw new StoreFailure('no', 'unavailable');
      await this.probe();
    }
  }

  /** Ends the pauses of those epochs that belong to this run. Returns the longest ended pause. */
  end(keys: readonly string[], runId: string): Promise<EndedPause> {
    const { clock, connection, run, time } = this.options;
    const guard: EpochGuard = {
      epochArguments: (deadline) => (run.id === runId ? [runId, time.notAfterUs(deadline)] : undefined),
      epochCheck: ({ word }) => (word === 'STALE' ? this.probe().then(again) : undefined),
    };
    const read = (reply: GuardedReply, _: number, by: AnsweringNode): EndedPause => ({
      ...readEnded(reply),
      confirm: () => by.confirm(keys[0] as string, clock.now()),
    });
    return connection().commands.send({ run: scripts.end, keys, args: [], read, guard, turn: HIGH });
  }

  /** Callers that ask while a probe is under way share that probe. */
  probe(): Promise<void> {
    this.probing ??= this.options
      .connection()
      .probeNode()
      .catch((cause: unknown) => {
        throw new StoreFailure('no', 'unavailable', { cause });
      })
      .finally(() => (this.probing = undefined));
    return this.probing;
  }

  private adoptArguments(
    { runId, previousRunId, mayBeNew, setForwardUs }: AdoptionFacts,
    sourceRuns: readonly string[],
    startedAt: number,
  ): EpochGuard['epochArguments'] {
    const { run, time, bounds, quarantineMs } = this.options;
    return (deadline) => {
      if (run.id !== runId) return undefined;
      return [
        runId,
        run.durable ? 'a' : 'w',
        Math.max(quarantineMs, bounds().longestMs),
        previousRunId,
        mayBeNew ? 1 : 0,
        setForwardUs,
        time.notAfterUs(Math.min(deadline, startedAt + REPORT_VALID_MS)),
        Math.max(run.overlapMs, bounds().overlapMs),
        sourceRuns.join(' '),
      ];
    };
  }
}

export function again(): Verdict {
  return { kind: 'again' };
}
