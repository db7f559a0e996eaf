import type {
  EventBody,
  FaultKind,
  FaultStarted,
  History,
  HistoryEvent,
  LossCause,
} from '../support/history';
import { compareEvents } from '../support/history';

/** By default every client requests the lock `lock` with a ttl of 10 s. */
const TTL_MS = 10_000;
const NAME = 'lock';

interface Timed {
  readonly atMs: number;
  readonly body: EventBody;
}

/** Events, nested in any way. */
export type Written = Timed | readonly Written[];

interface CallOptions {
  readonly name?: string;
  /** The default is the client's name. A second call of a client needs another id. */
  readonly call?: string;
  readonly requestId?: string;
  readonly ttlMs?: number;
}

const us = (ms: number): number => Math.round(ms * 1000);

function flatten(events: readonly Written[]): Timed[] {
  return events.flatMap((item) => ('body' in item ? [item] : flatten(item)));
}

/** Makes a history of events in any order. */
export function written(...events: readonly Written[]): History {
  const flat = flatten(events);
  const stamped = flat.map(({ atMs, body }, index) => ({
    at: us(atMs),
    source: 'written',
    seq: index,
    ...body,
  }));
  return (stamped as HistoryEvent[]).sort(compareEvents);
}

interface AskOptions extends CallOptions {
  readonly rpc?: 'acquire' | 'hold' | 'attach';
  readonly mode?: 'exclusive' | 'shared';
  readonly permits?: number;
  readonly waitMs?: number;
}

export function asked(atMs: number, client: string, options: AskOptions = {}): Timed {
  const { name = NAME, call = client, requestId = `request of ${client}`, ttlMs = TTL_MS } = options;
  return {
    atMs,
    body: {
      type: 'asked',
      client,
      call,
      name,
      requestId,
      lease: null,
      rpc: options.rpc ?? 'hold',
      mode: options.mode ?? 'exclusive',
      permitCount: options.permits ?? 1,
      ttlUs: us(ttlMs),
      waitTimeoutUs: options.waitMs === undefined ? null : us(options.waitMs),
    },
  };
}

export function queued(atMs: number, client: string, call = client): Timed {
  return { atMs, body: { type: 'queued', client, call, position: 1 } };
}

interface GrantOptions extends CallOptions {
  readonly lease?: string;
  readonly permits?: number;
  /** The time at which the call was sent. The expire_offset counts from this time to a TTL after `madeMs`. */
  readonly sentMs?: number;
  /** The time at which the server made the grant. The default is the time of receipt. */
  readonly madeMs?: number;
  /** The client's deadline, for a client that breaks the deadline rule. */
  readonly deadlineMs?: number;
}

export function granted(atMs: number, client: string, token: number, options: GrantOptions = {}): Timed {
  const { name = NAME, call = client, requestId = `request of ${client}`, ttlMs = TTL_MS } = options;
  const { lease = `lease ${token}`, sentMs = atMs, madeMs = atMs, permits = 1 } = options;
  return {
    atMs,
    body: {
      type: 'granted',
      ...{ client, call, name, requestId, token, lease },
      permitCount: permits,
      ttlUs: us(ttlMs),
      t0: us(sentMs),
      expireOffsetUs: us(madeMs - sentMs + ttlMs),
      deadline: us(options.deadlineMs ?? madeMs + ttlMs),
    },
  };
}

/** A request that is granted immediately. */
export function holds(atMs: number, client: string, token: number, options: AskOptions = {}): Timed[] {
  return [asked(atMs, client, options), granted(atMs, client, token, options)];
}

interface RenewalOptions extends GrantOptions {
  /** The time of receipt. The default is the time of the renewal. */
  readonly arrivesMs?: number;
}

/** A renewal event that the holder's stream receives. */
export function renewed(atMs: number, client: string, token: number, options: RenewalOptions = {}): Timed {
  const { call = client, ttlMs = TTL_MS, lease = `lease ${token}`, sentMs = atMs } = options;
  const expireOffsetUs = us(atMs - sentMs + ttlMs);
  const said = { lease, ttlUs: us(ttlMs), t0: us(sentMs), expireOffsetUs, deadline: us(atMs + ttlMs) };
  return { atMs: options.arrivesMs ?? atMs, body: { type: 'renewed', client, call, ...said } };
}

interface RenewCallOptions {
  readonly ttlMs?: number;
  /** True: the answer is LEASE_NOT_HELD. */
  readonly refused?: boolean;
}

/** A renewal by a unary call that is answered immediately. */
export function renewsByCall(
  atMs: number,
  client: string,
  token: number,
  { ttlMs = TTL_MS, refused = false }: RenewCallOptions = {},
): Timed[] {
  const call = `renewal by ${client} at ${atMs}`;
  const lease = `lease ${token}`;
  const answer = refused
    ? ended(atMs, client, 'NOT_FOUND/LEASE_NOT_HELD', call)
    : renewed(atMs, client, token, { call, ttlMs });
  return [{ atMs, body: { type: 'renew_asked', client, call, lease, ttlUs: us(ttlMs) } }, answer];
}

interface ReleaseOptions {
  readonly answeredMs?: number;
  readonly released?: boolean;
  readonly lossCause?: LossCause;
}

/** A release by lease id. By default the answer comes immediately. */
export function releases(atMs: number, client: string, token: number, options: ReleaseOptions = {}): Timed[] {
  const { answeredMs = atMs, released = true, lossCause = null } = options;
  const about = { client, call: `release by ${client} at ${atMs}`, lease: `lease ${token}` };
  return [
    { atMs, body: { type: 'release_asked', ...about } },
    { atMs: answeredMs, body: { type: 'release_answered', ...about, released, lossCause } },
  ];
}

export function lost(atMs: number, client: string, token: number, cause: LossCause): Timed {
  return { atMs, body: { type: 'lost', client, call: client, lease: `lease ${token}`, cause } };
}

export function releasedByStream(atMs: number, client: string, token: number): Timed {
  return { atMs, body: { type: 'released', client, call: client, lease: `lease ${token}` } };
}

export function ended(atMs: number, client: string, status: string, call = client): Timed {
  const [code = 'OK', reason = null] = status.split('/');
  return { atMs, body: { type: 'ended', client, call, code, reason } };
}

export function cancelled(atMs: number, client: string, call = client): Timed {
  return { atMs, body: { type: 'cancelled', client, call } };
}

export function killed(atMs: number, client: string): Timed {
  return { atMs, body: { type: 'killed', client } };
}

type FaultOptions = Partial<Pick<FaultStarted, 'clients' | 'names' | 'excuses' | 'explains'>>;

export function fault(kind: FaultKind, fromMs: number, toMs: number, options: FaultOptions = {}): Timed[] {
  const id = `${kind} at ${fromMs}`;
  return [
    { atMs: fromMs, body: { type: 'fault_started', fault: id, kind, what: kind, ...options } },
    { atMs: toMs, body: { type: 'fault_ended', fault: id } },
  ];
}

export function limit(atMs: number, name: string, value: number, answeredMs = atMs, done = true): Timed[] {
  const change = `${name} to ${value} at ${atMs}`;
  return [
    { atMs, body: { type: 'limit_asked', change, name, limit: value } },
    { atMs: answeredMs, body: { type: 'limit_answered', change, done } },
  ];
}

/** The answer to a revocation without force. */
export function revoked(atMs: number, token: number, name = NAME): Timed {
  return { atMs, body: { type: 'revoke_answered', name, token } };
}

export function revokes(atMs: number, token: number, force: boolean): Timed {
  return { atMs, body: { type: 'revoke_asked', name: NAME, tokens: [token], force } };
}

/** An observation of the lease's remaining time in Redis. null: Redis does not have the lease. */
export function observed(atMs: number, token: number, remainingMs: number | null, tookMs = 0): Timed {
  const wallClock = 1_700_000_000_000_000;
  return {
    atMs,
    body: {
      type: 'expiry_observed',
      name: NAME,
      lease: `lease ${token}`,
      before: us(atMs - tookMs),
      redisTimeUs: wallClock,
      expiryUs: remainingMs === null ? null : wallClock + us(remainingMs),
    },
  };
}

export function holders(atMs: number, ...tokens: readonly number[]): Timed {
  return { atMs, body: { type: 'holders_observed', name: NAME, tokens } };
}

export function residue(
  atMs: number,
  when: 'baseline' | 'rest',
  keys: readonly string[],
  gauges: Readonly<Record<string, number>> = {},
): Timed {
  return { atMs, body: { type: 'residue_observed', when, keys, gauges } };
}

export function probed(atMs: number, value: number, obtained: number): Timed {
  return { atMs, body: { type: 'permits_probed', name: NAME, limit: value, obtained } };
}

/** An event without consequences that extends the history. */
export function goesOnUntil(atMs: number): Timed {
  return { atMs, body: { type: 'holders_observed', name: 'nobody', tokens: [] } };
}
