import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import { dictionaryNamesKey, ownedNamesKey, newGenerationId, newWriteId } from './entry-keys';
import type { Commands, RawCommand } from '../../redis/commands';
import type { RawArgument, RawReply, Script } from '../../redis/script';
import { confirmed } from '../../redis/node/confirmations';
import type { PlainRedis } from '../../redis/topology/open';
import type {
  BucketsRead,
  EntryStore,
  Gap,
  Head,
  LoadSource,
  LoadStart,
  Missing,
  OtherProfile,
  StoredDictionary,
  StoredEntry,
  StoredUsage,
  TooNew,
  Writes,
} from '../entry-store';
import type { Profile } from '../suggestion';
import { EntryImports } from './entry-imports';
import {
  EntryCommands,
  HEAD_FIELDS,
  type Ok,
  profileText,
  readBuckets,
  readCreate,
  readDrop,
  readHead,
  readInspect,
  readLoadStart,
  readSweep,
  readUsage,
  scripts,
  type SweepOutcome,
  textOf,
} from './entry-replies';
import { EntryFeed } from './feed';
import { BulkWrites, EntryWrites, partlyDone } from './writes';

/** A sorted list of dictionary names. In a Cluster it may be on another node than a dictionary. */
class DictionaryNames {
  constructor(
    private readonly commands: Commands,
    private readonly key: string,
  ) {}

  async register(name: string): Promise<void> {
    await this.send('ZADD', [0, name], () => undefined);
  }

  /** Resolves when the name is registered, and the replicas have it. Needs no memory if the name is registered. */
  async keepRegistered(name: string): Promise<void> {
    const isText = (reply: RawReply[]) => (reply as unknown) !== null;
    const read = confirmed(this.key, isText, (isRegistered) => isRegistered);
    if (await this.send('ZSCORE', [name], read)) return;
    const readAdded = confirmed(
      this.key,
      () => undefined,
      () => true,
    );
    await this.send('ZADD', [0, name], readAdded);
  }

  async unregister(name: string): Promise<void> {
    await this.send('ZREM', [name], () => undefined);
  }

  list(beginning: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    const from = after === undefined || after < beginning ? `[${beginning}` : `(${after}`;
    // No UTF-8 text contains the byte 255, so this key follows every name with this prefix.
    const to = Buffer.concat([Buffer.from(`(${beginning}`), Buffer.from([255])]);
    return this.send('ZRANGEBYLEX', [from, to, 'LIMIT', 0, limit], (names) => names.map(textOf));
  }

  private send<T>(run: string, args: readonly RawArgument[], read: RawCommand<T>['read']): Promise<T> {
    return this.commands.send({ run, keys: [this.key], args, read, isRaw: true });
  }
}

export interface EntryStoreOptions {
  readonly commands: Commands;
  /** A replica for loads. If the replica cannot answer, the primary answers. */
  readonly replica: Pick<PlainRedis, 'commands' | 'reachable'> | undefined;
  readonly prefix: string;
  readonly clock: Clock;
}

/** The entries of dictionaries in Redis. autocomplete/scripts/shared/dictionary.lua describes the keys. */
export class RedisEntryStore implements EntryStore {
  private readonly on: EntryCommands;
  private readonly nameList: DictionaryNames;
  private readonly writes: EntryWrites;
  private readonly feed: EntryFeed;
  private readonly imports: EntryImports;

  private readonly replica: Pick<PlainRedis, 'commands' | 'reachable'> | undefined;

  constructor({ commands, replica, prefix, clock }: EntryStoreOptions) {
    this.replica = replica;
    const bulk = new BulkWrites(commands, clock);
    this.on = new EntryCommands(commands, prefix);
    this.nameList = new DictionaryNames(commands, dictionaryNamesKey(prefix));
    this.writes = new EntryWrites(this.on, bulk);
    this.feed = new EntryFeed(this.on, clock);
    this.imports = new EntryImports(this.on, bulk);
  }

  async create(name: string, profile: Profile, owner = ''): Promise<Ok | OtherProfile | Missing> {
    const read = confirmed(this.on.keyOf(name), readCreate, ({ kind }) => kind === 'ok');
    const args = [profileText(profile), newGenerationId(), newWriteId(), owner];
    const created = await this.on.send(scripts.create, name, args, read);
    if (created.kind === 'ok') await this.keepRegistered(name, owner);
    return created;
  }

  put(name: string, entries: readonly StoredEntry[]): Promise<Ok | Missing> {
    return this.writes.put(name, entries);
  }

  delete(name: string, entryIds: readonly string[]): Promise<(Ok & { deleted: number }) | Missing> {
    return this.writes.delete(name, entryIds);
  }

  select(
    name: string,
    entryId: string,
    count: number,
  ): Promise<(Ok & { count: number | undefined }) | Missing> {
    return this.writes.select(name, entryId, count);
  }

  head(name: string): Promise<Head | Missing> {
    return this.on.send('HMGET', name, HEAD_FIELDS, readHead);
  }

  writesAfter(
    name: string,
    after: { readonly generationId: string; readonly version: number; readonly tail: string },
  ): Promise<Writes | Gap | Missing> {
    return this.feed.writesAfter(name, after);
  }

  startLoad(name: string, source: LoadSource = 'primary'): Promise<LoadStart | Missing> {
    return this.load(source, scripts.startLoad, name, [], readLoadStart);
  }

  readBuckets(
    name: string,
    generationId: string,
    from: number,
    source: LoadSource = 'primary',
  ): Promise<BucketsRead | Gap> {
    return this.load(source, scripts.readBuckets, name, [generationId, from], readBuckets);
  }

  inspect(name: string): Promise<(Ok & StoredDictionary) | Missing> {
    return this.on.send(scripts.inspect, name, [], readInspect);
  }

  async startImport(
    name: string,
    importId: string,
    profile: Profile | undefined,
    defaultProfile: Profile,
    owner = '',
  ): Promise<Ok | OtherProfile | { readonly kind: 'busy' } | Missing> {
    return this.imports.start(name, importId, profile, defaultProfile, owner);
  }

  putImported(name: string, importId: string, entries: readonly StoredEntry[]) {
    return this.imports.put(name, importId, entries);
  }

  async commitImport(name: string, importId: string, owner = '') {
    const committed = await this.imports.commit(name, importId);
    if (committed.kind === 'ok') await this.keepRegistered(name, owner);
    return committed;
  }

  abandonImport(name: string, importId: string): Promise<void> {
    return this.imports.abandon(name, importId);
  }

  async drop(name: string): Promise<boolean | TooNew> {
    const dropped = await this.on.send(scripts.drop, name, [newWriteId()], readDrop);
    if (dropped.kind === 'ok') return true;
    return dropped.kind === 'too-new' && dropped;
  }

  sweep(name: string): Promise<SweepOutcome> {
    return this.on.send(scripts.sweep, name, [], readSweep);
  }

  register(name: string): Promise<void> {
    return this.nameList.register(name);
  }

  unregister(name: string): Promise<void> {
    return this.nameList.unregister(name);
  }

  names(prefix: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    return this.nameList.list(prefix, after, limit);
  }

  usage(name: string): Promise<StoredUsage> {
    return this.on.send(scripts.usage, name, [], readUsage);
  }

  registerOwned(owner: string, name: string): Promise<void> {
    return this.namesOf(owner).register(name);
  }

  unregisterOwned(owner: string, name: string): Promise<void> {
    return this.namesOf(owner).unregister(name);
  }

  owned(owner: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    return this.namesOf(owner).list('', after, limit);
  }

  /** Reads from the replica. The primary answers if the replica does not have the requested data. */
  private async load<T extends { readonly kind: string }>(
    source: LoadSource,
    one: Script,
    name: string,
    args: readonly RawArgument[],
    read: (reply: RawReply[], source: LoadSource) => T,
  ): Promise<T> {
    if (source === 'replica' && this.replica?.reachable) {
      try {
        const answer = await this.replica.commands.send({
          run: one,
          keys: [this.on.keyOf(name)],
          args,
          read: (reply) => read(reply, 'replica'),
          isRaw: true,
        });
        if (answer.kind === 'start' || answer.kind === 'buckets') return answer;
      } catch (error) {
        if (!(error instanceof StoreFailure)) throw error;
      }
    }
    return this.on.send(one, name, args, (reply) => read(reply, 'primary'));
  }

  private namesOf(owner: string): DictionaryNames {
    return new DictionaryNames(this.on.commands, ownedNamesKey(this.on.prefix, owner));
  }

  private async keepRegistered(name: string, owner: string): Promise<void> {
    try {
      await this.nameList.keepRegistered(name);
      if (owner !== '') await this.namesOf(owner).keepRegistered(name);
    } catch (error) {
      throw partlyDone(error);
    }
  }
}
