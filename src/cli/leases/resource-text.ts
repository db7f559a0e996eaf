import { LockMode, type Holder, type Waiter } from '../../../generated/typescript/holdfast/v1/lease';
import { fields, table, type Column, type Screen } from '../table';
import { spanText } from '../spans';
import { timeMs } from './requests';
import { timeOfDayMs } from '../time-of-day';
import type { Resource, ResourceKind, Revoked } from './resource-kind';

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
