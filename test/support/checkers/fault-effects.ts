import type { FaultEnded, FaultKind, FaultStarted, LossCause, Micros } from '../history';
import type { Invariant } from './violation';

/** The allowed effects of a kind of fault on clients. */
interface Effect {
  readonly excuses: readonly Invariant[];
  readonly explains: readonly LossCause[];
  /** The time after the fault in which its consequences may still show. */
  readonly graceUs: Micros;
  /** Commands sent during the fault may run at its end. */
  readonly delays: boolean;
}

const SECOND: Micros = 1_000_000;

function effect(
  excuses: readonly Invariant[],
  explains: readonly LossCause[],
  graceUs: Micros,
  delays = false,
): Effect {
  return { excuses, explains, graceUs, delays };
}

/**
 * The invariants that a loss of data may violate. Grants pause after a loss, so exclusion and over_issue still hold.
 */
const LOST_DATA: readonly Invariant[] = [
  'fifo',
  'lost_wake_up',
  'loss',
  'idempotence',
  'truthful_offset',
  'dead_grant',
];

/**
 * A kind that excuses little is a strict test. A stalled Redis must not cost a waiter its place. SCRIPT FLUSH, killed
 * connections and clock jumps must not have any effect.
 */
const EFFECTS: Readonly<Record<FaultKind, Effect>> = {
  server_killed: effect(['lost_wake_up', 'dead_grant'], ['EXPIRED'], 8 * SECOND),
  server_stopped: effect(
    ['fifo', 'lost_wake_up', 'recovery', 'loss', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    8 * SECOND,
    true,
  ),
  client_stopped: effect(['fifo', 'loss', 'dead_grant'], ['EXPIRED'], 3 * SECOND, true),
  // Heartbeats are dropped, delayed or not made. A delayed heartbeat makes the deadlines of its offsets earlier.
  client_silent: effect(['loss', 'dead_grant'], ['EXPIRED'], 3 * SECOND),
  redis_stopped: effect(
    ['lost_wake_up', 'recovery', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    8 * SECOND,
    true,
  ),
  redis_restarted: effect(
    ['lost_wake_up', 'recovery', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    8 * SECOND,
  ),
  redis_lost_writes: effect(
    [...LOST_DATA, 'recovery'],
    ['EXPIRED', 'STORE_RESET', 'STORE_UNAVAILABLE'],
    8 * SECOND,
  ),
  redis_flushed: effect(LOST_DATA, ['STORE_RESET'], 2 * SECOND),
  // The keys of one name are deleted manually. The store cannot detect this loss.
  redis_deleted: effect(['exclusion', 'over_issue', ...LOST_DATA], ['STORE_RESET'], 2 * SECOND),
  scripts_flushed: effect([], [], 0),
  connections_killed: effect([], [], 0),
  // A lost reply may report a short lease that ends before the command is repeated. The wait then goes on, and the next
  // waiter is served meanwhile (decision 019).
  reply_dropped: effect(['fifo', 'lost_wake_up', 'recovery', 'dead_grant'], [], 5 * SECOND),
  link_cut: effect(
    ['fifo', 'lost_wake_up', 'recovery', 'loss', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    8 * SECOND,
    true,
  ),
  link_slow: effect(
    ['fifo', 'lost_wake_up', 'recovery', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    3 * SECOND,
    true,
  ),
  store_full: effect(['lost_wake_up', 'recovery'], [], SECOND),
  store_refusing: effect(
    ['lost_wake_up', 'recovery', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    3 * SECOND,
  ),
  draining: effect(['lost_wake_up', 'recovery'], [], 5 * SECOND),
  clock_jumped: effect([], [], 0),
  // The servers and the test did not run, because other programs used all processor cores.
  machine_stalled: effect(
    ['fifo', 'lost_wake_up', 'recovery', 'loss', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    5 * SECOND,
    true,
  ),
};

/** A fault with its effects. `to` is the end of the fault, `shownTo` the end of its consequences. */
export interface FaultWindow {
  readonly started: FaultStarted;
  readonly kind: FaultKind;
  readonly from: Micros;
  readonly to: Micros;
  readonly shownTo: Micros;
  readonly excuses: ReadonlySet<string>;
  readonly explains: ReadonlySet<LossCause>;
  readonly delays: boolean;
  readonly clients: ReadonlySet<string> | null;
  readonly names: ReadonlySet<string> | null;
}

/** A fault without an end lasts to the end of the history. */
export function faultWindow(started: FaultStarted, ended: FaultEnded | undefined): FaultWindow {
  const known = EFFECTS[started.kind];
  const to = ended?.at ?? Infinity;
  return {
    started,
    kind: started.kind,
    from: started.at,
    to,
    shownTo: to + (started.graceUs ?? known.graceUs),
    excuses: new Set(started.excuses ?? known.excuses),
    explains: new Set(started.explains ?? known.explains),
    delays: known.delays,
    clients: started.clients === undefined ? null : new Set(started.clients),
    names: started.names === undefined ? null : new Set(started.names),
  };
}

/** The client and name that a check is about, and the kinds of faults. An omitted field matches every fault. */
export interface Scope {
  readonly client?: string;
  readonly name?: string;
  readonly kinds?: readonly FaultKind[];
}

export function concerns(window: FaultWindow, scope: Scope): boolean {
  if (scope.kinds !== undefined && !scope.kinds.includes(window.kind)) return false;
  if (window.clients !== null && scope.client !== undefined && !window.clients.has(scope.client))
    return false;
  if (window.names !== null && scope.name !== undefined && !window.names.has(scope.name)) return false;
  return true;
}

/** True if the fault certainly removed all leases of this name. */
export function erases(window: FaultWindow, name: string): boolean {
  const kinds: readonly FaultKind[] = ['redis_flushed', 'redis_deleted'];
  return kinds.includes(window.kind) && concerns(window, { name });
}

/** The longest lag of a replica that takes over. With a longer lag, the master refuses writes. */
const MAX_LAG: Micros = 15 * SECOND;

/** The time before the fault in which writes about this name may be lost. 0 if no writes are lost. */
export function lossReachUs(window: FaultWindow, name: string): Micros {
  if (erases(window, name)) return Infinity;
  const kinds: readonly FaultKind[] = ['redis_lost_writes', 'redis_restarted', 'redis_stopped'];
  const mayForget = kinds.includes(window.kind) && window.explains.has('STORE_RESET');
  return mayForget && concerns(window, { name }) ? MAX_LAG : 0;
}
