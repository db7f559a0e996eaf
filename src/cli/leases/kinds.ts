import { type Holdfast, InvalidRequestError } from '../../../clients/typescript';
import type { Timestamp } from '../../../generated/typescript/google/protobuf/timestamp';
import {
  type Holder,
  ListOrder,
  LockMode,
  type Waiter,
} from '../../../generated/typescript/holdfast/v1/lease';
import { Lock, LockServiceService } from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  Semaphore,
  SemaphoreServiceService,
  type SetSemaphoreLimitResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { spanText } from '../output';
import { type Column, fields, type Screen, table } from '../table';
import { CliError, EXIT, type Terminal, timeOfDayMs } from '../terminal';

/** What `get`, `list` and `watch` show of a lock or a semaphore. */
export interface Resource {
  readonly name: string;
  readonly holderCount: number;
  readonly waiterCount: number;
  readonly lastFencingToken: bigint;
  readonly holders: readonly Holder[];
  readonly waiters: readonly Waiter[];
  /** Only semaphores have a limit. 0 pauses the semaphore. */
  readonly limit?: number;
  /** The limit that comes back after a pause. 0: there is none. */
  readonly keptLimit?: number;
}

interface ListQuery {
  readonly namePrefix: string;
  readonly holderId: string;
  readonly identity: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly byWaiterCount: boolean;
}

export interface Page<T> {
  readonly rows: readonly T[];
  readonly nextPageToken: string;
  /** Not all names were counted for this order. */
  readonly sampled: boolean;
}

/** What an operator revokes. */
export type RevokeTarget =
  | { readonly kind: 'token'; readonly fencingToken: bigint }
  | { readonly kind: 'all' }
  | { readonly kind: 'waiter'; readonly position: number; readonly enqueueTime: Timestamp };

interface Revocation {
  readonly name: string;
  readonly target: RevokeTarget;
  readonly force: boolean;
  readonly reason: string;
}

interface Revoked {
  /** The leases and waiters that were found. */
  readonly revokedCount: number;
  /** When the last of the revoked leases ends, on the store's wall clock. */
  readonly freeTime: Timestamp | undefined;
}

/** The calls of one kind of resource. Locks and semaphores have the same commands over different messages. */
export interface ResourceKind<T extends Resource> {
  readonly word: 'lock' | 'semaphore';
  get(hf: Holdfast, name: string): Promise<T>;
  list(hf: Holdfast, query: ListQuery): Promise<Page<T>>;
  watch(hf: Holdfast, name: string, signal: AbortSignal): AsyncIterable<T>;
  revoke(hf: Holdfast, revocation: Revocation): Promise<Revoked>;
  toJson(resource: T): unknown;
  readonly columns: readonly Column<T>[];
  /** Lines of `get` that only this kind has. */
  fields(resource: T): readonly (readonly [string, string])[];
}

/** A message that every server sends. */
export function required<T>(message: T | undefined, what: string): T {
  if (message === undefined) throw new CliError(`the server has answered without the ${what}`, EXIT.defect);
  return message;
}

/** The common form of RevokeLockRequest and RevokePermitsRequest. */
function revocationRequest({ name, target, force, reason }: Revocation) {
  const common = { name, force, reason };
  switch (target.kind) {
    case 'token':
      return {
        ...common,
        target: { $case: 'fencingToken' as const, value: target.fencingToken },
        enqueueTime: undefined,
      };
    case 'all':
      return { ...common, target: { $case: 'allHolders' as const, value: true }, enqueueTime: undefined };
    case 'waiter':
      return {
        ...common,
        target: { $case: 'waiterPosition' as const, value: target.position },
        enqueueTime: target.enqueueTime,
      };
  }
}

export function timeMs({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}

/** The label of a holder or waiter, else the proven identity. */
export function label({ holderId, identity }: Holder | Waiter): string {
  return holderId || identity || '(no label)';
}

export function firstHolder({ holders, holderCount, limit }: Resource): string {
  const [first] = holders;
  if (first === undefined && holderCount > 0) return '(not readable)';
  if (first === undefined) return limit === 0 ? 'paused' : 'free';
  return `${label(first)}${holderCount > 1 ? ` and ${holderCount - 1} more` : ''}`;
}

/** The proven identity of the holder that `firstHolder` names. Empty: none, as without authentication. */
export function firstIdentity({ holders: [first] }: Resource): string {
  return first?.identity ?? '';
}

/** "free now" or "free in 23.8s". */
export function freeText({ freeTime }: Revoked): string {
  const wait = freeTime === undefined ? 0 : timeMs(freeTime) - timeOfDayMs();
  return wait > 0 ? `free in ${spanText(wait)}` : 'free now';
}

function stateText({ holderCount, limit, keptLimit = 0 }: Resource): string {
  const held = holderCount > 0 ? `held by ${holderCount}` : undefined;
  const paused = keptLimit > 0 ? 'paused' : 'paused by its limit of 0';
  if (limit === 0) return `${held === undefined ? '' : `${held}, `}${paused}`;
  return held ?? 'free';
}

/** Times of the store are compared with the own wall clock, so the ages are right to the difference of the clocks. */
function holderColumns(nowMs: number): readonly Column<Holder>[] {
  return [
    { title: 'HOLDER', value: label, mayShrink: true },
    { title: 'MODE', value: ({ mode }) => (mode === LockMode.LOCK_MODE_SHARED ? 'shared' : 'exclusive') },
    { title: 'PERMITS', value: ({ permitCount }) => String(permitCount), isNumber: true },
    { title: 'TOKEN', value: ({ fencingToken }) => String(fencingToken), isNumber: true },
    {
      title: 'HELD FOR',
      value: ({ acquireTime }) => (acquireTime ? spanText(nowMs - timeMs(acquireTime)) : ''),
    },
    {
      title: 'ENDS IN',
      value: ({ expireTime, revoked }) =>
        `${expireTime ? spanText(timeMs(expireTime) - nowMs) : ''}${revoked ? ' (revoked)' : ''}`,
    },
    { title: 'IDENTITY', value: ({ identity }) => identity, mayShrink: true },
    { title: 'METADATA', value: ({ metadata }) => metadataText(metadata), mayShrink: true },
  ];
}

function waiterColumns(nowMs: number): readonly Column<Waiter>[] {
  return [
    { title: 'PLACE', value: ({ position }) => String(position), isNumber: true },
    { title: 'WAITER', value: label, mayShrink: true },
    { title: 'MODE', value: ({ mode }) => (mode === LockMode.LOCK_MODE_SHARED ? 'shared' : 'exclusive') },
    { title: 'PERMITS', value: ({ permitCount }) => String(permitCount), isNumber: true },
    {
      title: 'WAITS FOR',
      value: ({ enqueueTime }) => (enqueueTime ? spanText(nowMs - timeMs(enqueueTime)) : ''),
    },
    { title: 'IDENTITY', value: ({ identity }) => identity, mayShrink: true },
    { title: 'METADATA', value: ({ metadata }) => metadataText(metadata), mayShrink: true },
  ];
}

function metadataText(metadata: ReadonlyMap<string, string>): string {
  return [...metadata].map(([key, value]) => `${key}=${value}`).join(' ');
}

/** Columns that no row uses, and columns of the other kind, are left out. */
function shown<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  word: 'lock' | 'semaphore',
): Column<T>[] {
  const foreign = word === 'lock' ? 'PERMITS' : 'MODE';
  return columns.filter(({ title, value }) => title !== foreign && rows.some((row) => value(row) !== ''));
}

/** The text of `get`. */
export function resourceLines<T extends Resource>(
  kind: ResourceKind<T>,
  resource: T,
  screen: Screen,
  nowMs: number,
  pause?: string,
): string[] {
  const { name, holders, holderCount, waiters, waiterCount, lastFencingToken } = resource;
  const lines = fields([
    [kind.word, name],
    ['state', stateText(resource)],
    ['grants', pause],
    ...kind.fields(resource),
    ['waiters', String(waiterCount)],
    ['last token', lastFencingToken === 0n ? undefined : String(lastFencingToken)],
  ]);
  if (holders.length > 0) {
    lines.push('', ...table(holders, shown(holders, holderColumns(nowMs), kind.word), screen));
    if (holderCount > holders.length) lines.push(`… and ${holderCount - holders.length} more holders`);
  }
  if (waiters.length > 0) {
    lines.push('', ...table(waiters, shown(waiters, waiterColumns(nowMs), kind.word), screen));
    if (waiterCount > waiters.length) lines.push(`… and ${waiterCount - waiters.length} more waiters`);
  }
  return lines;
}

/** The commands of `holdfast lock`, over LockService. */
export const lockKind: ResourceKind<Lock> = {
  word: 'lock',
  async get(hf, name) {
    const { lock } = await hf.call(LockServiceService.getLock, { name });
    return required(lock, `lock "${name}"`);
  },
  async list(hf, { byWaiterCount, ...query }) {
    const orderBy = byWaiterCount ? ListOrder.LIST_ORDER_WAITER_COUNT : ListOrder.LIST_ORDER_UNSPECIFIED;
    const { locks, nextPageToken, sampled } = await hf.call(LockServiceService.listLocks, {
      ...query,
      orderBy,
    });
    return { rows: locks, nextPageToken, sampled };
  },
  async *watch(hf, name, signal) {
    for await (const { lock } of hf.watch(LockServiceService.watchLock, { name }, { signal })) {
      yield required(lock, `lock "${name}"`);
    }
  },
  revoke: (hf, revocation) => hf.call(LockServiceService.revokeLock, revocationRequest(revocation)),
  toJson: (lock) => Lock.toJSON(lock),
  columns: [
    { title: 'NAME', value: ({ name }) => name, mayShrink: true },
    { title: 'HOLDERS', value: ({ holderCount }) => String(holderCount), isNumber: true },
    { title: 'WAITERS', value: ({ waiterCount }) => String(waiterCount), isNumber: true },
    { title: 'TOKEN', value: ({ lastFencingToken }) => String(lastFencingToken), isNumber: true },
    { title: 'HOLDER', value: firstHolder, mayShrink: true },
  ],
  fields: () => [],
};

/** The commands of `holdfast semaphore`, over SemaphoreService. */
export const semaphoreKind: ResourceKind<Semaphore> = {
  word: 'semaphore',
  async get(hf, name) {
    const { semaphore } = await hf.call(SemaphoreServiceService.getSemaphore, { name });
    return required(semaphore, `semaphore "${name}"`);
  },
  async list(hf, { byWaiterCount, ...query }) {
    const orderBy = byWaiterCount ? ListOrder.LIST_ORDER_WAITER_COUNT : ListOrder.LIST_ORDER_UNSPECIFIED;
    const { semaphores, nextPageToken, sampled } = await hf.call(SemaphoreServiceService.listSemaphores, {
      ...query,
      orderBy,
    });
    return { rows: semaphores, nextPageToken, sampled };
  },
  async *watch(hf, name, signal) {
    for await (const { semaphore } of hf.watch(
      SemaphoreServiceService.watchSemaphore,
      { name },
      { signal },
    )) {
      yield required(semaphore, `semaphore "${name}"`);
    }
  },
  revoke: (hf, revocation) => hf.call(SemaphoreServiceService.revokePermits, revocationRequest(revocation)),
  toJson: (semaphore) => Semaphore.toJSON(semaphore),
  columns: [
    { title: 'NAME', value: ({ name }) => name, mayShrink: true },
    { title: 'USED', value: ({ usedCount }) => String(usedCount), isNumber: true },
    { title: 'LIMIT', value: limitText, isNumber: true },
    { title: 'HOLDERS', value: ({ holderCount }) => String(holderCount), isNumber: true },
    { title: 'WAITERS', value: ({ waiterCount }) => String(waiterCount), isNumber: true },
    { title: 'HOLDER', value: firstHolder, mayShrink: true },
  ],
  fields: (semaphore) => [['permits', permitsText(semaphore)]],
};

/** With a kept limit, the limit that comes back: "8 paused". */
export function limitText({ limit, keptLimit }: Semaphore): string {
  return keptLimit > 0 ? `${keptLimit} paused` : String(limit);
}

function permitsText({ usedCount, limit, keptLimit, overcommittedCount }: Semaphore): string {
  if (keptLimit > 0)
    return `${usedCount} used; "holdfast semaphore resume" brings back the limit ${keptLimit}`;
  return `${usedCount} of ${limit} used${overcommittedCount > 0 ? `, ${overcommittedCount} above the limit` : ''}`;
}

/** Pauses or resumes. `limit` stays unset, because an old server would take it and ignore `paused`. */
export function setPaused(
  hf: Holdfast,
  name: string,
  paused: boolean,
  { expectedLimit, signal }: { expectedLimit?: number | undefined; signal?: AbortSignal } = {},
): Promise<SetSemaphoreLimitResponse> {
  const request = { name, limit: undefined, expectedLimit, paused };
  return hf.call(SemaphoreServiceService.setSemaphoreLimit, request, { signal }).catch(explainOldServer);
}

/** Only a server that does not know `paused` misses the limit. */
function explainOldServer(error: unknown): never {
  const isOld =
    error instanceof InvalidRequestError && error.violations.some(({ field }) => field === 'limit');
  throw isOld ? oldServer() : error;
}

/** Rejects if the server does not know `paused`. */
export async function requirePause(hf: Holdfast): Promise<void> {
  const { features } = await hf.serverInfo();
  if (!features.includes('SEMAPHORE_PAUSE')) throw oldServer();
}

function oldServer(): CliError {
  return new CliError(
    'this server cannot pause and resume semaphores, because its version is too old: use "semaphore set-limit"',
  );
}

const PAGE_SIZE = 500;

/** The rows of a list, one page after the other, until Ctrl-C. */
export async function* listedPages<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  query: Omit<ListQuery, 'pageSize' | 'pageToken'>,
  terminal: Terminal,
): AsyncGenerator<readonly T[], void, undefined> {
  let pageToken = '';
  do {
    const page = await kind.list(hf, { ...query, pageSize: PAGE_SIZE, pageToken });
    if (page.sampled)
      terminal.err.write('holdfast: not all names were counted; give a prefix for an exact order\n');
    yield page.rows;
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && !terminal.interrupted.aborted);
}
