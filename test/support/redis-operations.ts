import { leaseLibrary, libraryNote } from '../../generated/redis/scripts';
import type { RedisCommand } from './proxy/tcp-proxy';

/** An operation that a command carries out by a function of the library. */
export interface CalledOperation {
  readonly name: string;
  /** The state of its resource, or its index of names. */
  readonly key: string;
  readonly args: readonly string[];
}

/** The number of arguments of each operation of a library. */
export function argumentCounts(library: string): ReadonlyMap<string, number> {
  const found = library.matchAll(/^(\w+) = \{ argument_count = (\d+),/gm);
  return new Map([...found].map(([, name = '', count]) => [name, Number(count)]));
}

const ARGUMENT_COUNTS = argumentCounts(leaseLibrary);
/** The arguments that the operations of a command share, and the number of operations. */
const SHARED_COUNT = 5;

/**
 * The operations of a call of the library, in the form of leases/scripts/lease-library.lua. None: the command calls no
 * function. Throws if the library lacks an operation.
 */
export function operationsOf({ name, args }: RedisCommand): readonly CalledOperation[] {
  if (name !== 'FCALL') return [];
  const keys = args.slice(2, 2 + Number(args[1]));
  const texts = args.slice(2 + keys.length);
  const operations: CalledOperation[] = [];
  let at = SHARED_COUNT;
  for (const key of keys.slice(0, Number(texts[SHARED_COUNT - 1]))) {
    const operation = texts[at] ?? '';
    const count = ARGUMENT_COUNTS.get(operation);
    if (count === undefined) throw new Error(`the library has no operation "${operation}"`);
    const first = at + 2; // behind the place of its epoch
    operations.push({ name: operation, key, args: texts.slice(first, first + count) });
    at = first + count;
  }
  return operations;
}

/** Whether a command runs a script or calls the library. The notes about libraries, which come at any time, do not count. */
export function isScript({ name, args }: RedisCommand): boolean {
  return name === 'FCALL' || name === 'EVALSHA' || (name === 'EVAL' && args[0] !== libraryNote);
}

/** How often clients ran a script by its hash or called the library, by the text of INFO commandstats. */
export function scriptCalls(stats: string): number {
  const counts = stats.matchAll(/^cmdstat_(?:evalsha|fcall)(?:_ro)?:calls=(\d+)/gm);
  return [...counts].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** How often clients called the library, by the text of INFO commandstats. */
export function functionCalls(stats: string): number {
  return Number(/^cmdstat_fcall:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}
