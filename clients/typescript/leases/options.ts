import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import { checkedSignal } from '../calls/abort';
import { checkedMetadata, checkedText } from '../texts';
import { invalidOption, textOfValue, toMs, toPositiveMs, type TimeSpan } from '../time-span';
import type { Acquire, QueuePlace } from '../sessions/acquire-intent';
import { checkCount } from '../counts';
import { checkedOptions, type Known } from '../known-options';
import { metadataMap, type Metadata } from './metadata';

/** Options of an attempt that does not wait. */
export interface TryOptions {
  /**
   * The time after which the lease ends if this process vanishes. The client renews the lease long before. Default: the
   * server's, 30 s. Range: 100 ms to 2 min, as the server allows.
   */
  readonly ttl?: TimeSpan | undefined;
  /**
   * The longest time to hold the lease. Afterwards the lease counts as lost, with the cause MAX_HOLD, and is released when
   * the work has ended or the deadline has passed. Heartbeats prove that the process runs, and this option catches work
   * that hangs. Range: greater than 0. Default: no bound.
   */
  readonly maxHold?: TimeSpan | undefined;
  /** Ends the attempt, which then rejects with the signal's reason. A grant that was under way is released. */
  readonly signal?: AbortSignal | undefined;
  readonly metadata?: Metadata | undefined;
}

export interface AcquireOptions extends TryOptions {
  /** The longest wait in the queue. Default: until `signal` aborts. */
  readonly wait?: TimeSpan | undefined;
  /**
   * Called with the place in the queue while the request waits, at most every 2 s. An error of the function ends nothing:
   * the logger is told once for each wait, or the process gets a warning if there is no logger.
   */
  readonly onQueued?: ((place: QueuePlace) => void) | undefined;
}

interface Mode {
  /** Holders of a shared lock hold it together. Default: exclusive. */
  readonly mode?: 'exclusive' | 'shared' | undefined;
}

interface Permits {
  /** Default: 1. */
  readonly permits?: number | undefined;
  /**
   * The limit of a semaphore that does not exist yet. An existing semaphore keeps its limit: the logger is then told once
   * for each name, or the process gets a warning if there is no logger.
   */
  readonly limit?: number | undefined;
  /**
   * Demands `limit`: rejects with a LimitMismatchError if the semaphore has another limit when the permits are asked for.
   * Needs the permission `read`, and rejects with a NotAllowedError without it. A later change of the limit is not
   * noticed. Default: false.
   */
  readonly exactLimit?: boolean | undefined;
}

export interface LockOptions extends AcquireOptions, Mode {}
export interface TryLockOptions extends TryOptions, Mode {}
export interface PermitsOptions extends AcquireOptions, Permits {}
export interface TryPermitsOptions extends TryOptions, Permits {}

const TRY: Known<TryOptions> = { ttl: true, maxHold: true, signal: true, metadata: true };
const WAIT = { wait: true, onQueued: true } as const;
const COUNTS = { permits: true, limit: true, exactLimit: true } as const;

export const ACQUIRE: Known<AcquireOptions> = { ...TRY, ...WAIT };
export const LOCK: Known<LockOptions> = { ...ACQUIRE, mode: true };
export const TRY_LOCK: Known<TryLockOptions> = { ...TRY, mode: true };
export const PERMITS: Known<PermitsOptions> = { ...ACQUIRE, ...COUNTS };
export const TRY_PERMITS: Known<TryPermitsOptions> = { ...TRY, ...COUNTS };

const MODES: ReadonlyMap<string, LockMode> = new Map([
  ['exclusive', LockMode.LOCK_MODE_EXCLUSIVE],
  ['shared', LockMode.LOCK_MODE_SHARED],
]);

/** Throws an InvalidRequestError for an option that no message can carry. The server checks all else. */
export function lockAcquire(name: string, options: LockOptions): Acquire {
  const { mode = 'exclusive', ...others } = checkedOptions(options, LOCK);
  const code = MODES.get(mode);
  if (code === undefined) throw invalidOption('mode', `'exclusive' or 'shared', not ${textOfValue(mode)}`);
  return { kind: 'lock', name: checkedText('name', name), mode: code, ...common(others) };
}

/** Throws an InvalidRequestError for an option that no message can carry. The server checks all else. */
export function permitsAcquire(name: string, options: PermitsOptions): Acquire {
  const { permits, limit, exactLimit, ...others } = checkedOptions(options, PERMITS);
  checkCount('permits', permits);
  checkCount('limit', limit);
  if (exactLimit !== undefined && typeof exactLimit !== 'boolean') {
    throw invalidOption('exactLimit', `true or false, not ${textOfValue(exactLimit)}`);
  }
  if (exactLimit === true && limit === undefined)
    throw invalidOption('exactLimit', 'given together with limit');
  return {
    kind: 'permits',
    name: checkedText('name', name),
    permitCount: permits,
    initialLimit: limit,
    exactLimit,
    ...common(others),
  };
}

function common({ ttl, wait, maxHold, signal, metadata, onQueued }: AcquireOptions) {
  return {
    ttlMs: ttl === undefined ? undefined : toMs(ttl, 'ttl'),
    waitMs: wait === undefined ? undefined : toMs(wait, 'wait'),
    maxHoldMs: maxHold === undefined ? undefined : toPositiveMs(maxHold, 'maxHold'),
    signal: checkedSignal(signal),
    metadata: metadata === undefined ? undefined : checkedMetadata(metadataMap(metadata)),
    onQueued: checkedFunction(onQueued, 'onQueued'),
  };
}

function checkedFunction<F>(given: F, option: string): F {
  if (given === undefined || typeof given === 'function') return given;
  throw invalidOption(option, `a function, not ${textOfValue(given)}`);
}
