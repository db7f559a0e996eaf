import { randomBytes } from 'node:crypto';
import {
  entriesCreate,
  entriesDelete,
  entriesDrop,
  entriesFinish,
  entriesImportAbandon,
  entriesImportCommit,
  entriesImportFollow,
  entriesImportPut,
  entriesImportStart,
  entriesInspect,
  entriesPut,
  entriesPutStaged,
  entriesReadBuckets,
  entriesSelect,
  entriesStartLoad,
  entriesSweep,
  entriesUsage,
  entriesWritesAfter,
} from '../../../generated/redis/scripts';
import type { AnsweringNode } from '../../redis/node/answering-node';
import type { Commands } from '../../redis/command-runner';
import { script, type RawArgument, type Script } from '../../redis/operation';
import type { RawReply } from '../../redis/script-command';
import { entriesKey } from '../../redis/buckets';

export const scripts = {
  create: script(entriesCreate),
  put: script(entriesPut),
  putStaged: script(entriesPutStaged),
  finish: script(entriesFinish),
  delete: script(entriesDelete),
  select: script(entriesSelect),
  writesAfter: script(entriesWritesAfter),
  startLoad: script(entriesStartLoad),
  readBuckets: script(entriesReadBuckets),
  inspect: script(entriesInspect),
  usage: script(entriesUsage),
  startImport: script(entriesImportStart),
  putImported: script(entriesImportPut),
  followImport: script(entriesImportFollow),
  commitImport: script(entriesImportCommit),
  abandonImport: script(entriesImportAbandon),
  drop: script(entriesDrop),
  sweep: script(entriesSweep),
};

/** Each new connection loads these scripts into Redis. */
export const entryScripts: readonly Script[] = Object.values(scripts);

/** The scripts that a replica runs. */
export const loadScripts: readonly Script[] = [scripts.startLoad, scripts.readBuckets];

type Read<T> = (reply: RawReply[], sentAt: number, by: AnsweringNode) => T | Promise<T>;

/** Runs the scripts of one dictionary. */
export class EntryCommands {
  constructor(
    readonly commands: Commands,
    readonly prefix: string,
  ) {}

  keyOf(name: string): string {
    return entriesKey(this.prefix, name);
  }

  /** The key of a chunk of a put, before the put is committed (scripts/entries/shared/dictionary.lua). */
  chunkKey(name: string, writeId: string, number: number): string {
    const key = this.keyOf(name);
    return `${key.slice(0, key.indexOf('}:d:') + '}:d:'.length)}stage:${writeId}:${number}`;
  }

  run<T>(one: Script, name: string, args: readonly RawArgument[], read: Read<T>): Promise<T> {
    return this.commands.runRaw(one, [this.keyOf(name)], args, read);
  }

  runTimed<T>(one: Script, name: string, args: readonly RawArgument[], read: Read<T>): Promise<T> {
    return this.commands.runTimed(one, [this.keyOf(name)], args, read);
  }
}

/** The bits of an id that must not be used twice. 96 bits suffice for 10^12 writes. */
const WRITE_ID_BYTES = 12;
const GENERATION_ID_BYTES = 16;

export function newWriteId(): string {
  return randomBytes(WRITE_ID_BYTES).toString('base64url');
}

/** The random id also prevents that clients choose entry ids that share a bucket. */
export function newGenerationId(): string {
  return randomBytes(GENERATION_ID_BYTES).toString('base64url');
}
