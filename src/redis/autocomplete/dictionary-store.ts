import {
  dictionaryCreate,
  dictionaryDrop,
  dictionaryEndImport,
  dictionaryInspect,
  dictionaryList,
  dictionaryStartImport,
  dictionarySuggest,
  dictionarySweep,
  dictionaryWrite,
} from '../../../generated/redis/scripts';
import type {
  DictionaryStore,
  FoldedEntry,
  Listing,
  ListingRequest,
  LostImport,
  OtherProfile,
  Ranking,
  RankingRequest,
  StoredProfile,
  StoredView,
  UnknownDictionary,
} from '../../engine/autocomplete/dictionary-store';
import { StoreFailure } from '../../engine/errors';
import type { AnsweringNode } from '../connection/answering-node';
import type { Commands } from '../connection/command-runner';
import { confirmed } from '../connection/confirmed';
import type { RedisConnection } from '../connection/connection';
import { script, type RawArgument, type Script } from '../connection/operation';
import {
  kindLetters,
  LOST,
  positionArgs,
  profileText,
  readCommit,
  readCreate,
  readDrop,
  readInspect,
  readList,
  readStartImport,
  readSuggest,
  readSweep,
  readWrite,
  UNKNOWN,
  type SweepOutcome,
} from './dictionary-replies';
import { deletion, put, type ChangeArguments } from './dictionary-changes';
import { DictionaryNames } from './dictionary-names';
import { dictionaryKey } from '../keys';
import type { RawReply } from '../connection/script-command';

const scripts = {
  create: script(dictionaryCreate),
  inspect: script(dictionaryInspect),
  write: script(dictionaryWrite),
  startImport: script(dictionaryStartImport),
  endImport: script(dictionaryEndImport),
  drop: script(dictionaryDrop),
  sweep: script(dictionarySweep),
  suggest: script(dictionarySuggest),
  list: script(dictionaryList),
};

/** Each new connection loads these scripts into Redis. */
export const dictionaryScripts: readonly Script[] = Object.values(scripts);

export interface DictionaryStoreOptions {
  readonly commands: Commands;
  /** A replica for reads. If the replica cannot answer, the primary answers. */
  readonly replica: RedisConnection | undefined;
  readonly prefix: string;
}

/** Bounds of the arguments of one script. Changes that the script has no time to begin are sent again. */
const MOST_CHANGES = 8;
const MOST_BYTES = 64 * 1024;
/** How many scripts of one call are in flight. Two keep Redis busy, and leave room for other calls. */
const LANE_COUNT = 2;

type Written =
  | { readonly kind: 'ok'; readonly answers: readonly number[] }
  | UnknownDictionary
  | LostImport
  | OtherProfile;

/** The store of dictionaries. Each method runs one script, as often as necessary. */
export class RedisDictionaryStore implements DictionaryStore {
  private readonly nameList: DictionaryNames;

  constructor(private readonly options: DictionaryStoreOptions) {
    this.nameList = new DictionaryNames(options.commands, options.prefix);
  }

  async create(name: string, profile: StoredProfile): Promise<{ kind: 'ok' } | OtherProfile> {
    const read = confirmed(this.keyOf(name), readCreate, ({ kind }) => kind === 'ok');
    const created = await this.run(scripts.create, name, [profileText(profile)], read);
    if (created.kind === 'ok') await this.keepRegistered(name);
    return created;
  }

  inspect(name: string): Promise<StoredView | UnknownDictionary> {
    return this.run(scripts.inspect, name, [], readInspect);
  }

  async put(
    name: string,
    profile: StoredProfile,
    entries: readonly FoldedEntry[],
  ): Promise<{ kind: 'ok' } | UnknownDictionary | OtherProfile> {
    const written = await this.writeAll(name, profileText(profile), '', entries.map(put));
    if (written.kind === 'lost') return UNKNOWN;
    return written.kind === 'ok' ? { kind: 'ok' } : written;
  }

  async delete(name: string, entryIds: readonly string[]) {
    const written = await this.writeAll(name, '', '', entryIds.map(deletion));
    if (written.kind !== 'ok') return UNKNOWN;
    return { kind: 'ok' as const, deleted: written.answers.reduce((sum, one) => sum + one, 0) };
  }

  async select(name: string, entryId: string, count: number) {
    const selection = { id: entryId, args: ['select', entryId, count, '', '', '', ''], bytes: 0 };
    const written = await this.write(name, '', '', [selection], true);
    if (written.kind !== 'ok') return UNKNOWN;
    const [total = -1] = written.answers;
    return { kind: 'ok' as const, count: total < 0 ? undefined : total };
  }

  startImport(name: string, importId: string, profile: StoredProfile | undefined, usual: StoredProfile) {
    const args = [profile ? profileText(profile) : '', profileText(usual), importId];
    return this.run(scripts.startImport, name, args, readStartImport);
  }

  async putImported(
    name: string,
    importId: string,
    profile: StoredProfile,
    entries: readonly FoldedEntry[],
  ): Promise<{ kind: 'ok' } | LostImport> {
    const written = await this.writeAll(name, profileText(profile), importId, entries.map(put));
    return written.kind === 'ok' ? { kind: 'ok' } : LOST;
  }

  async commitImport(name: string, importId: string): Promise<{ kind: 'ok' } | LostImport> {
    const read = confirmed(this.keyOf(name), readCommit, (reply) => reply !== 'again' && reply.kind === 'ok');
    const committed = await this.run(scripts.endImport, name, [importId, 'commit'], read);
    if (committed === 'again') return this.commitImport(name, importId);
    if (committed.kind === 'ok') await this.keepRegistered(name);
    return committed;
  }

  async abandonImport(name: string, importId: string): Promise<void> {
    await this.run(scripts.endImport, name, [importId, 'abandon'], () => undefined);
  }

  drop(name: string): Promise<boolean> {
    return this.run(scripts.drop, name, [], readDrop);
  }

  sweep(name: string): Promise<SweepOutcome> {
    return this.run(scripts.sweep, name, [], readSweep);
  }

  suggest(name: string, request: RankingRequest): Promise<({ kind: 'ok' } & Ranking) | UnknownDictionary> {
    const { query, kinds, limit, after } = request;
    const args = [query.kept, query.dropped, kindLetters(kinds), limit, ...positionArgs(after)];
    return this.read(scripts.suggest, name, args, readSuggest);
  }

  list(name: string, request: ListingRequest): Promise<({ kind: 'ok' } & Listing) | UnknownDictionary> {
    const { from, to, limit, after } = request;
    const position = after ? [after.text, after.number] : ['', ''];
    const args = [from.kept, from.dropped, to.kept, to.dropped, limit, ...position];
    return this.read(scripts.list, name, args, readList);
  }

  register(name: string): Promise<void> {
    return this.nameList.register(name);
  }

  unregister(name: string): Promise<void> {
    return this.nameList.unregister(name);
  }

  names(beginning: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    return this.nameList.list(beginning, after, limit);
  }

  /** If several changes name the same entry, the last change counts. */
  private async writeAll(
    name: string,
    profile: string,
    importId: string,
    changes: readonly ChangeArguments[],
  ): Promise<Written> {
    const last = new Map(changes.map((change) => [change.id, change]));
    const lanes: ChangeArguments[][] = Array.from(
      { length: last.size > MOST_CHANGES ? LANE_COUNT : 1 },
      () => [],
    );
    let count = 0;
    for (const change of last.values()) lanes[count++ % lanes.length]?.push(change);
    const settled = await Promise.allSettled(lanes.map((lane) => this.write(name, profile, importId, lane)));
    const answers: number[] = [];
    for (const lane of settled) {
      // The failed lane may have done nothing, but the other lanes have made changes.
      if (lane.status === 'rejected') throw lanes.length > 1 ? partlyDone(lane.reason) : lane.reason;
      if (lane.value.kind !== 'ok') return lane.value;
      answers.push(...lane.value.answers);
    }
    return { kind: 'ok', answers };
  }

  /** Sends changes in steps. Each reply says how many changes the script has begun, and whether they are done. */
  private write(
    name: string,
    profile: string,
    importId: string,
    changes: readonly ChangeArguments[],
    once = false,
  ): Promise<Written> {
    const answers: number[] = [];
    const step = (): Promise<Written> => {
      const args: RawArgument[] = [profile, importId];
      let bytes = 0;
      for (let i = answers.length; i < changes.length; i += 1) {
        const change = changes[i] as ChangeArguments;
        bytes += change.bytes;
        if (i > answers.length && (i - answers.length >= MOST_CHANGES || bytes > MOST_BYTES)) break;
        args.push(...change.args);
      }
      const sendOnce = once && answers.length < changes.length;
      return this.run(scripts.write, name, args, read, sendOnce);
    };
    const read = (reply: RawReply[]): Written | Promise<Written> => {
      const written = readWrite(reply);
      if (written.kind !== 'ok') return written;
      answers.push(...written.results);
      if (answers.length === changes.length && written.isFinished) return { kind: 'ok', answers };
      return step();
    };
    return step().catch((error: unknown) => {
      throw answers.length > 0 ? partlyDone(error) : error;
    });
  }

  private async read<T extends { readonly kind: string }>(
    script: Script,
    name: string,
    args: readonly RawArgument[],
    parse: (reply: RawReply[]) => T,
  ): Promise<T> {
    const { replica } = this.options;
    if (replica?.reachable) {
      try {
        const answer = await replica.commands.runRaw(script, [this.keyOf(name)], args, parse);
        // A new dictionary may not have reached the replica yet.
        if (answer.kind !== 'unknown') return answer;
      } catch (error) {
        if (!(error instanceof StoreFailure)) throw error;
      }
    }
    return this.run(script, name, args, parse);
  }

  private async keepRegistered(name: string): Promise<void> {
    try {
      await this.nameList.keepRegistered(name);
    } catch (error) {
      throw partlyDone(error);
    }
  }

  private run<T>(
    script: Script,
    name: string,
    args: readonly RawArgument[],
    read: (reply: RawReply[], sentAt: number, by: AnsweringNode) => T | Promise<T>,
    once = false,
  ): Promise<T> {
    return this.options.commands.runRaw(script, [this.keyOf(name)], args, read, once);
  }

  private keyOf(name: string): string {
    return dictionaryKey(this.options.prefix, name);
  }
}

/** Some changes of the call are made, so the outcome of the call is unknown. */
function partlyDone(error: unknown): unknown {
  return error instanceof StoreFailure ? new StoreFailure('unknown', error.kind, { cause: error }) : error;
}
