import type { FaultEnded, FaultKind, FaultStarted, LossCause, Micros } from '../history';
import type { Invariant } from './violation';

/** What a kind of fault may do to clients, and for how long after its end. */
interface Effect {
  readonly excuses: readonly Invariant[];
  readonly explains: readonly LossCause[];
  readonly graceUs: Micros;
  /** Commands sent during it may be carried out at its end. */
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

/** Grants pause until nobody believes what was forgotten, so two holders and too many permits are not among them. */
const FORGETS: readonly Invariant[] = [
  'fifo',
  'lost_wake_up',
  'loss',
  'idempotence',
  'truthful_offset',
  'dead_grant',
];

/**
 * Kinds that excuse little are the demanding ones: a stalled Redis costs nobody the place in the queue,
 * SCRIPT FLUSH and killed connections are noticed by nobody, a jump of the clock has no effect at all.
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
    [...FORGETS, 'recovery'],
    ['EXPIRED', 'STORE_RESET', 'STORE_UNAVAILABLE'],
    8 * SECOND,
  ),
  redis_flushed: effect(FORGETS, ['STORE_RESET'], 2 * SECOND),
  // By hand, the keys of one name: no store can know of it.
  redis_deleted: effect(['exclusion', 'over_issue', ...FORGETS], ['STORE_RESET'], 2 * SECOND),
  scripts_flushed: effect([], [], 0),
  connections_killed: effect([], [], 0),
  reply_dropped: effect(['lost_wake_up', 'recovery', 'dead_grant'], [], 5 * SECOND),
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
  // Nobody ran, the test neither: other programs had the machine.
  machine_stalled: effect(
    ['fifo', 'lost_wake_up', 'recovery', 'loss', 'dead_grant'],
    ['EXPIRED', 'STORE_UNAVAILABLE'],
    5 * SECOND,
    true,
  ),
};

/** A fault with its consequences resolved; `to` is its own end, `shownTo` that of its consequences. */
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

/** A fault that never ended lasts to the end of the history. */
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

/** Who or what a check is about; what is left out is not asked for. */
export interface Scope {
  readonly client?: string;
  readonly name?: string;
}

export function concerns(window: FaultWindow, scope: Scope): boolean {
  if (window.clients !== null && scope.client !== undefined && !window.clients.has(scope.client))
    return false;
  if (window.names !== null && scope.name !== undefined && !window.names.has(scope.name)) return false;
  return true;
}

/** Whether the store certainly has no lease of this name any more that was made before the fault. */
export function erases(window: FaultWindow, name: string): boolean {
  const kinds: readonly FaultKind[] = ['redis_flushed', 'redis_deleted'];
  return kinds.includes(window.kind) && concerns(window, { name });
}

/** A replica that takes over lags by no more than this, or its master takes no writes. */
const MOST_LAG: Micros = 15 * SECOND;

/** The writes of how long before the fault the store may have lost of this name; 0: of none. */
export function forgetsBackUs(window: FaultWindow, name: string): Micros {
  if (erases(window, name)) return Infinity;
  const kinds: readonly FaultKind[] = ['redis_lost_writes', 'redis_restarted', 'redis_stopped'];
  const mayForget = kinds.includes(window.kind) && window.explains.has('STORE_RESET');
  return mayForget && concerns(window, { name }) ? MOST_LAG : 0;
}
