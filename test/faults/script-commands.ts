import * as scripts from '../../generated/redis/scripts';
import { script } from '../../src/redis/script';
import { bucketOf } from '../../src/redis/buckets';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { operationsOf } from '../support/redis-operations';

const SHAS = {
  acquire: script(scripts.leaseAcquire).sha,
  claim: script(scripts.leaseClaim).sha,
  withdraw: script(scripts.leaseWithdraw).sha,
  touch: script(scripts.leaseTouch).sha,
  /** Attaches too. */
  renew: script(scripts.leaseRenew).sha,
  /** Renews the leases of one bucket together. */
  renewMany: script(scripts.leaseRenewMany).sha,
  release: script(scripts.leaseRelease).sha,
  limit: script(scripts.leaseLimit).sha,
  delete: script(scripts.leaseDelete).sha,
  'dictionary create': script(scripts.entriesCreate).sha,
  /** A put of one chunk. */
  'dictionary put': script(scripts.entriesPut).sha,
  /** The commit of a put of several chunks. */
  'dictionary put staged': script(scripts.entriesPutStaged).sha,
  /** Writes a part of a committed put to its buckets. */
  'dictionary finish': script(scripts.entriesFinish).sha,
  'dictionary delete': script(scripts.entriesDelete).sha,
  'dictionary select': script(scripts.entriesSelect).sha,
  'dictionary start import': script(scripts.entriesImportStart).sha,
  'dictionary import batch': script(scripts.entriesImportPut).sha,
  'dictionary commit': script(scripts.entriesImportCommit).sha,
  'dictionary abandon': script(scripts.entriesImportAbandon).sha,
  'dictionary drop': script(scripts.entriesDrop).sha,
  'dictionary start load': script(scripts.entriesStartLoad).sha,
  'dictionary read buckets': script(scripts.entriesReadBuckets).sha,
};

export type ScriptKind = keyof typeof SHAS;

/**
 * Matches a proxy's commands that run a script, or the operation of the library that does the same. `about` is a request id or
 * key that must be among the arguments.
 */
export function runsOf(kind: ScriptKind, about?: string): (command: RedisCommand) => boolean {
  // The arguments of a touch are a list in JSON.
  const isAbout = (words: readonly string[]): boolean =>
    about === undefined || words.some((word) => word === about || word.includes(JSON.stringify(about)));
  return (command) =>
    (command.args[0] === SHAS[kind] && isAbout(command.args)) ||
    operationsOf(command).some(({ name, key, args }) => name === kind && isAbout([key, ...args]));
}

/** Another name of the same bucket: the leases of both names are renewed together. */
export function neighbourOf(name: string): string {
  for (let number = 0; ; number += 1) {
    const neighbour = `${name} ${number}`;
    if (bucketOf(neighbour) === bucketOf(name)) return neighbour;
  }
}
