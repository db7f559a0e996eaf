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
import { StoreFailure } from '../../base/errors';
import { entriesKey } from './entry-keys';
import type { Commands, RawCommand } from '../../redis/commands';
import { type RawArgument, type RawReply, type Script, script } from '../../redis/script';
import type {
  BucketsRead,
  EntryStore,
  Gap,
  Head,
  LoadSource,
  LoadStart,
  LostImport,
  Missing,
  OtherProfile,
  StoredDictionary,
  StoredUsage,
} from '../entry-store';
import type { Profile } from '../suggestion';

/** Decodes the replies of the scripts in autocomplete/scripts. The header comment of each script describes its reply. */

export type Ok = { readonly kind: 'ok' };
/** Other work came first, so the script must be called again. */
export type Again = { readonly kind: 'again' };
/** The effect of a write: see the replies of entries-put, entries-delete and entries-select. */
export type Written = { readonly kind: 'written'; readonly effect: number };
export type SweepOutcome = Awaited<ReturnType<EntryStore['sweep']>>;

export const OK: Ok = { kind: 'ok' };
export const GAP: Gap = { kind: 'gap' };
export const LOST: LostImport = { kind: 'lost' };
const UNKNOWN: Missing = { kind: 'unknown' };
const AGAIN: Again = { kind: 'again' };

/** The fields of `meta` for `readHead`. */
export const HEAD_FIELDS = ['format', 'profile', 'live', 'version', 'tail'];
const FORMAT = 2;

/** The outcomes that many scripts have in common. Undefined: the script has an outcome of its own. */
function readCommon([word, value]: readonly RawReply[]):
  Missing | OtherProfile | Again | LostImport | undefined {
  switch (textOf(word)) {
    case 'UNKNOWN':
      return UNKNOWN;
    case 'FORMAT':
      return { kind: 'too-new', format: Number(textOf(value)) };
    case 'EXISTS':
      return { kind: 'other-profile', profile: readProfile(value) };
    case 'AGAIN':
      return AGAIN;
    case 'LOST':
      return LOST;
    case 'LATE': // The script did nothing, and the caller's time is over.
    case 'EXPIRED': // The staged chunks have expired, so the put must start again from its first chunk.
      throw new StoreFailure('no', 'unavailable');
    case 'FORGOTTEN': // An earlier send of the script may have run.
      throw new StoreFailure('unknown', 'unavailable');
  }
  return undefined;
}

export function readCreate(reply: readonly RawReply[]): Ok | OtherProfile | Missing {
  return (readCommon(reply) as OtherProfile | Missing | undefined) ?? OK;
}

export function readStartImport(
  reply: readonly RawReply[],
): Ok | OtherProfile | { readonly kind: 'busy' } | Missing {
  if (textOf(reply[0]) === 'BUSY') return { kind: 'busy' };
  return (readCommon(reply) as OtherProfile | Missing | undefined) ?? OK;
}

export function readImportStep(reply: readonly RawReply[]): Ok | Again | LostImport {
  const common = readCommon(reply);
  if (common?.kind === 'again' || common === undefined) return common ?? OK;
  return LOST;
}

export function readWritten(reply: readonly RawReply[]): Written | Again | Missing {
  const common = readCommon(reply) as Again | Missing | undefined;
  return common ?? { kind: 'written', effect: Number(textOf(reply[1])) };
}

export function readDrop(reply: readonly RawReply[]): Ok | Missing {
  return (readCommon(reply) as Missing | undefined) ?? OK;
}

export function readSweep(reply: readonly RawReply[]): SweepOutcome {
  // Only a newer server sweeps a newer format.
  if (readCommon(reply)?.kind === 'too-new') return 'later';
  return textOf(reply[0]).toLowerCase() as SweepOutcome;
}

/** Reads HEAD_FIELDS. */
export function readHead([format, ...fields]: readonly RawReply[]): Head | Missing {
  if (format !== null && Number(textOf(format)) !== FORMAT) {
    return { kind: 'too-new', format: Number(textOf(format)) };
  }
  return fields[1] === null ? UNKNOWN : headOf(fields);
}

export function readLoadStart(reply: readonly RawReply[], source: LoadSource): LoadStart | Missing {
  const common = readCommon(reply) as Missing | undefined;
  if (common) return common;
  const [version, tail, entryCount, entryBytes, ...buckets] = reply.slice(HEAD_FIELDS.length);
  return {
    kind: 'start',
    head: headOf(reply.slice(1)),
    version: numberOf(version),
    tail: textOf(tail),
    entryCount: numberOf(entryCount),
    entryBytes: numberOf(entryBytes),
    source,
    ...bucketsOf(buckets),
  };
}

export function readBuckets(reply: readonly RawReply[]): BucketsRead | Gap {
  if (textOf(reply[0]) !== 'OK') return GAP;
  const [, version, tail, ...buckets] = reply;
  return { kind: 'buckets', version: numberOf(version), tail: textOf(tail), ...bucketsOf(buckets) };
}

/** The values of `read_buckets` in dictionary.lua. */
function bucketsOf([bucketCount, next, packed]: readonly RawReply[]): Pick<
  BucketsRead,
  'bucketCount' | 'next' | 'packed'
> {
  return { bucketCount: numberOf(bucketCount), next: numberOf(next), packed: packed as Buffer };
}

/** Elements of the feed, which are still packed. `tail` is the tail after the last element. */
interface Elements {
  readonly kind: 'elements';
  readonly head: Head;
  readonly elements: readonly Buffer[];
  readonly tail: string;
}

export function readElements(reply: readonly RawReply[]): Elements | Gap | Missing {
  if (textOf(reply[0]) === 'GAP') return GAP;
  const common = readCommon(reply) as Missing | undefined;
  if (common) return common;
  const [elements, tail] = reply.slice(HEAD_FIELDS.length);
  return {
    kind: 'elements',
    head: headOf(reply.slice(1)),
    elements: elements as Buffer[],
    tail: textOf(tail),
  };
}

export function readInspect(reply: readonly RawReply[]): (Ok & StoredDictionary) | Missing {
  const common = readCommon(reply) as Missing | undefined;
  if (common) return common;
  const [, profile, generation, entryCount, memoryBytes, feedBytes, imports] = reply;
  return {
    kind: 'ok',
    profile: readProfile(profile),
    generation: numberOf(generation),
    entryCount: numberOf(entryCount),
    memoryBytes: numberOf(memoryBytes),
    feedBytes: numberOf(feedBytes),
    imports: (imports as RawReply[][]).map(([started, received]) => ({
      startTimeMs: numberOf(started) / 1000,
      receivedCount: numberOf(received),
    })),
  };
}

export function readUsage(reply: readonly RawReply[]): StoredUsage {
  if (textOf(reply[0]) === 'GONE') return { kind: 'gone' };
  // No server of this format can write to a dictionary of a newer format.
  if (readCommon(reply) !== undefined) return { kind: 'unknown' };
  const [, owner, entries, bytes] = reply;
  return {
    kind: 'used',
    owner: textOf(owner),
    amount: { entries: numberOf(entries), bytes: numberOf(bytes) },
  };
}

export function profileText({ accents, typos }: Profile): string {
  return `${accents === 'kept' ? 'k' : 'd'}${typos ? 't' : '-'}`;
}

export function textOf(reply: RawReply | undefined): string {
  return Buffer.isBuffer(reply) ? reply.toString() : String(reply ?? '');
}

function readProfile(reply: RawReply | undefined): Profile {
  const text = textOf(reply);
  return { accents: text.startsWith('k') ? 'kept' : 'dropped', typos: text[1] === 't' };
}

function headOf([profile, generationId, version, tail]: readonly RawReply[]): Head {
  return {
    kind: 'head',
    profile: readProfile(profile),
    generationId: textOf(generationId),
    version: numberOf(version),
    tail: textOf(tail),
  };
}

function numberOf(reply: RawReply | undefined): number {
  return Number(textOf(reply));
}

const TIMED = { isTimed: true };

export const scripts = {
  create: script(entriesCreate, TIMED),
  put: script(entriesPut, TIMED),
  putStaged: script(entriesPutStaged, TIMED),
  finish: script(entriesFinish),
  delete: script(entriesDelete, TIMED),
  select: script(entriesSelect, TIMED),
  writesAfter: script(entriesWritesAfter),
  startLoad: script(entriesStartLoad),
  readBuckets: script(entriesReadBuckets),
  inspect: script(entriesInspect),
  usage: script(entriesUsage),
  startImport: script(entriesImportStart, TIMED),
  putImported: script(entriesImportPut),
  followImport: script(entriesImportFollow),
  commitImport: script(entriesImportCommit, TIMED),
  abandonImport: script(entriesImportAbandon),
  drop: script(entriesDrop, TIMED),
  sweep: script(entriesSweep),
};

/** Each new connection loads these scripts into Redis. */
export const entryScripts: readonly Script[] = Object.values(scripts);

/** The scripts that a replica runs. */
export const loadScripts: readonly Script[] = [scripts.startLoad, scripts.readBuckets];

type Read<T> = RawCommand<T>['read'];

/** Sends scripts and commands for one dictionary. */
export class EntryCommands {
  constructor(
    readonly commands: Commands,
    readonly prefix: string,
  ) {}

  keyOf(name: string): string {
    return entriesKey(this.prefix, name);
  }

  /** `run`: a script, or a command of Redis. */
  send<T>(run: Script | string, name: string, args: readonly RawArgument[], read: Read<T>): Promise<T> {
    return this.commands.send({ run, keys: [this.keyOf(name)], args, read, isRaw: true });
  }
}
