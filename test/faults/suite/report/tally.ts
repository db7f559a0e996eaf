import type { Ended, Micros } from '../../../support/history';
import type { Effect } from '../nemesis/fault';
import type { Injection } from '../nemesis/nemesis';
import type { FaultName } from '../nemesis/faults';
import type { RoundOutcome } from '../round';

/** The effects of one kind of fault over all rounds of a run. */
export interface FaultTally {
  readonly fault: FaultName;
  /** How often the fault was drawn, and how often the fault had an effect. */
  readonly drawn: number;
  readonly counted: number;
  readonly effect: Effect;
  /** The events of clients during the fault and the second after. Overlapping faults count the same events. */
  readonly felt: Effect;
  /** The times from the end of the fault to the next grant of any name, and to a grant of every name (ms). */
  readonly firstGrantMs: readonly number[];
  readonly allGrantedMs: readonly number[];
}

export interface RoundTally {
  readonly seed: number;
  readonly trafficMs: number;
  /** The client calls in the history. */
  readonly operations: number;
  /** The calls that were refused because of a fault: no server, no store, a quarantine, or no memory. */
  readonly refused: number;
  readonly grants: number;
  readonly streamEvents: number;
  /** How many operations shared a command to Redis with others. */
  readonly shared: number;
  /** The time in which the runner was not scheduled (ms). Most invariants are relaxed for this time. */
  readonly stalledMs: number;
  readonly faults: readonly FaultTally[];
}

const AFTERWARDS_US: Micros = 1_000_000;

/** Counts the events and effects of one round. */
export function tallyRound({ plan, history, injections, sharedCount }: RoundOutcome): RoundTally {
  let operations = 0;
  let refused = 0;
  let grants = 0;
  let streamEvents = 0;
  for (const event of history) {
    const { type } = event;
    if (type === 'ended' && isOutage(event)) refused += 1;
    if (type === 'asked' || type === 'renew_asked' || type === 'release_asked') operations += 1;
    if (type === 'granted') grants += 1;
    if (type === 'queued' || type === 'renewed' || type === 'renewal_failed' || type === 'lost')
      streamEvents += 1;
  }
  const grantsByName = grantTimes(history);
  const end = history.at(-1)?.at ?? 0;
  const kinds = [...new Set(injections.map(({ fault }) => fault))];
  const faults = kinds.map((fault): FaultTally => {
    const ofKind = injections.filter((injection) => injection.fault === fault);
    const effects = ofKind.map((injection) => ({ felt: feltDuring(history, injection) }));
    const recoveries = ofKind.map(({ to }) => recovery(grantsByName, to, end));
    return {
      fault,
      drawn: ofKind.length,
      counted: ofKind.filter(changedSomething).length,
      effect: sum(ofKind.flatMap(({ effect }) => (effect === undefined ? [] : [effect]))),
      felt: sum(effects.map(({ felt }) => felt)),
      firstGrantMs: recoveries.flatMap(({ firstMs }) => firstMs ?? []),
      allGrantedMs: recoveries.flatMap(({ allMs }) => allMs ?? []),
    };
  });
  const stalledMs = stalls(history);
  return {
    seed: plan.seed,
    trafficMs: plan.trafficMs,
    operations,
    refused,
    grants,
    streamEvents,
    shared: sharedCount,
    stalledMs,
    faults,
  };
}

/** True if a fault had an effect. Other faults do not count. */
function changedSomething({ effect }: Injection): boolean {
  return effect !== undefined && Object.values(effect).some((number) => number > 0);
}

export function sum(all: readonly Effect[]): Effect {
  const total: Record<string, number> = {};
  for (const effect of all) {
    for (const [what, number] of Object.entries(effect)) total[what] = (total[what] ?? 0) + number;
  }
  return total;
}

function feltDuring(history: RoundOutcome['history'], { from, to }: Injection): Effect {
  const felt: Record<string, number> = {};
  for (const event of history) {
    if (event.at < from || event.at > to + AFTERWARDS_US) continue;
    const what = effectOf(event);
    if (what !== undefined) felt[what] = (felt[what] ?? 0) + 1;
  }
  return felt;
}

const OUTAGES = ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL', 'RESOURCE_EXHAUSTED'];

/** True if a call ended because of a fault. REATTACH is not a fault: the stream reached its maximum age. */
function isOutage({ code, reason }: Ended): boolean {
  return OUTAGES.includes(code) && reason !== 'REATTACH';
}

function effectOf(event: RoundOutcome['history'][number]): string | undefined {
  switch (event.type) {
    case 'lost':
      return `LOST / ${event.cause}`;
    case 'renewal_failed':
      return 'renewals failed';
    case 'ended': {
      const { code, reason } = event;
      if (!isOutage(event)) return undefined;
      return `calls ended ${reason ?? code}`;
    }
    default:
      return undefined;
  }
}

function stalls(history: RoundOutcome['history']): number {
  const from = new Map<string, Micros>();
  let us: Micros = 0;
  for (const event of history) {
    if (event.type === 'fault_started' && event.kind === 'machine_stalled') from.set(event.fault, event.at);
    if (event.type === 'fault_ended') us += event.at - (from.get(event.fault) ?? event.at);
  }
  return us / 1000;
}

function grantTimes(history: RoundOutcome['history']): ReadonlyMap<string, readonly Micros[]> {
  const times = new Map<string, Micros[]>();
  for (const event of history) {
    if (event.type !== 'granted') continue;
    const known = times.get(event.name);
    if (known === undefined) times.set(event.name, [event.at]);
    else known.push(event.at);
  }
  return times;
}

/** The times from `from` to the next grants. Undefined: the round ended before these grants. */
function recovery(
  grants: ReadonlyMap<string, readonly Micros[]>,
  from: Micros,
  end: Micros,
): { firstMs: number | undefined; allMs: number | undefined } {
  const next = [...grants.values()].map((times) => times.find((at) => at >= from) ?? Infinity);
  const ms = (at: Micros) => (at <= end ? (at - from) / 1000 : undefined);
  return { firstMs: ms(Math.min(...next)), allMs: ms(Math.max(...next)) };
}
