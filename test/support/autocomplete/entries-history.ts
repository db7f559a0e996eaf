import fc from 'fast-check';
import type { RedisEntryStore } from '../../../src/autocomplete/redis/redis-entry-store';
import { StoreFailure } from '../../../src/base/errors';
import { script, type Script } from '../../../src/redis/script';
import type { EntriesFixture } from './entries-fixture';
import { loadedContent, PROFILE, storedMany, storeOf } from './entries-fixture';
import { EntriesModel } from './entries-model';
import { type Fault, Stopped, UnreliableCommands } from '../redis-commands';

const sizes = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 2, arbitrary: fc.constantFrom(99, 100, 101) },
  fc.integer({ min: 1, max: 1000 }),
);
const firstIds = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1200 }));
const slots = fc.integer({ min: 0, max: 1 });

const deeds = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put' as const), count: sizes, from: firstIds, text: fc.nat(99) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delete' as const), count: sizes, from: firstIds }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('select' as const),
      id: firstIds,
      count: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const), slot: slots }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      slot: slots,
      count: sizes,
      from: firstIds,
      text: fc.nat(99),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const), slot: slots }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abandon' as const), slot: slots }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('load' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('recreate' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('repeat' as const), pick: fc.nat() }) },
);

const faults: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fault>({ kind: 'none' }) },
  { weight: 3, arbitrary: fc.constant<Fault>({ kind: 'repeated' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('stopped' as const),
      at: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 24 })),
      ran: fc.boolean(),
    }),
  },
);

export const stepsOf = fc.array(
  fc.record({ server: fc.integer({ min: 0, max: 1 }), deed: deeds, fault: faults }),
  {
    minLength: 5,
    maxLength: 25,
    size: 'max',
  },
);

/** The script with a feed of at most 20 kB. */
const smallFeed = ({ text, isTimed }: Script): Script =>
  script(text.replaceAll('4194304', '20000').replaceAll('math.max(65536', 'math.max(5000'), { isTimed });

type Step = typeof stepsOf extends fc.Arbitrary<(infer One)[]> ? One : never;
type Deed = Step['deed'];

const idsOf = (count: number, from: number) => storedMany(count, from).map(({ entryId }) => entryId);

/** A script that has had its effect, to be sent again. */
interface Repetition {
  readonly again: () => Promise<unknown>;
  readonly at: number;
  /** The import that the script has started. */
  readonly importId: string | undefined;
}

/** A dictionary of two servers and its model, which carry out the same steps. */
export class EntriesHistory {
  private model = new EntriesModel();
  private importsStarted = 0;
  /** The open imports by slot, with the server that carries them out. */
  private readonly imports = new Map<number, { readonly id: string; readonly server: number }>();
  /** Repetitions of the scripts that have changed the dictionary. */
  private readonly repetitions: Repetition[] = [];
  private readonly servers: { commands: UnreliableCommands; store: RedisEntryStore }[];

  constructor(
    private readonly on: EntriesFixture,
    readonly name: string,
    hasSmallFeed: boolean,
  ) {
    this.servers = [0, 1].map(() => {
      const commands = new UnreliableCommands(on.commands, hasSmallFeed ? smallFeed : undefined);
      return { commands, store: storeOf(commands.commands) };
    });
  }

  async step({ server, deed, fault }: Step): Promise<void> {
    const { commands, store } = this.servers[this.serverOf(deed) ?? server] as (typeof this.servers)[0];
    const before = this.model.copy();
    commands.begin(fault);
    try {
      await this.carryOut(deed, store, server);
      const importId = deed.do === 'start' ? this.imports.get(deed.slot)?.id : undefined;
      const hasChanged = importId !== undefined || this.model.version !== before.version;
      if (fault.kind === 'none' && hasChanged) this.keep(commands.timedAgain, importId);
    } catch (error) {
      // A repeated script without an effect leaves no trace.
      const isForgotten = fault.kind === 'repeated' && isUnknown(error);
      if (!(error instanceof Stopped) && !isForgotten) throw error;
      await this.afterStop(deed, before);
    } finally {
      commands.begin({ kind: 'none' });
    }
  }

  private keep(timedAgain: readonly (() => Promise<unknown>)[], importId: string | undefined): void {
    const at = performance.now();
    this.repetitions.push(...timedAgain.map((again) => ({ again, at, importId })));
  }

  /** A script that has had its effect is sent again, after other scripts. */
  private async repeat(pick: number): Promise<void> {
    const young = this.repetitions.filter(({ at }) => performance.now() - at < MOST_AGE_MS);
    const before = await this.on.head(this.name);
    const one = young[pick % young.length];
    await one?.again().catch((error: unknown) => {
      if (!isUnknown(error)) throw error;
    });
    // A start that comes after the removal of its import opens an empty import, which ends after a minute of silence.
    if (one?.importId !== undefined && !this.model.hasImport(one.importId)) {
      await this.on.store.abandonImport(this.name, one.importId);
    }
    expect(await this.on.head(this.name)).toEqual(before);
    expect(await loadedContent(this.on.store, this.name)).toEqual(this.model.content);
  }

  async end(): Promise<void> {
    for (const { id } of this.imports.values()) await this.on.store.abandonImport(this.name, id);
    expect(await loadedContent(this.on.other, this.name)).toEqual(this.model.content);
    expect((await this.on.head(this.name)).version).toBe(this.model.version);
    expect(await this.on.checkAtRest(this.name)).toEqual([]);
    expect(await loadedContent(this.on.store, this.name)).toEqual(this.model.content);
    expect(await this.on.store.inspect(this.name)).toMatchObject({ entryCount: this.model.size });
    await this.on.store.drop(this.name);
    while ((await this.on.store.sweep(this.name)) === 'more');
    expect(await this.on.checker.check(this.name)).toEqual([]);
    expect(await this.on.redis.command('EXISTS', this.on.key(this.name))).toBe('0');
  }

  /** The server that carries out the import of a deed. */
  private serverOf(deed: Deed): number | undefined {
    return 'slot' in deed ? this.imports.get(deed.slot)?.server : undefined;
  }

  private async carryOut(deed: Deed, store: RedisEntryStore, server: number): Promise<void> {
    const { name, model } = this;
    switch (deed.do) {
      case 'put': {
        const entries = storedMany(deed.count, deed.from, `text ${deed.text}`);
        expect(await store.put(name, entries)).toEqual({ kind: 'ok' });
        return model.put(entries);
      }
      case 'delete': {
        const ids = idsOf(deed.count, deed.from);
        const answer = await store.delete(name, ids);
        return expect(answer).toEqual({ kind: 'ok', deleted: this.deleteFromModel(ids) });
      }
      case 'select': {
        const answer = await store.select(name, `id ${deed.id}`, deed.count);
        return expect(answer).toEqual({ kind: 'ok', count: model.select(`id ${deed.id}`, deed.count) });
      }
      case 'sweep':
        await store.sweep(name);
        return;
      case 'recreate':
        expect(await store.drop(name)).toBe(true);
        model.recreate();
        return expect(await store.create(name, PROFILE)).toEqual({ kind: 'ok' });
      case 'repeat':
        return this.repeat(deed.pick);
      case 'load':
        return expect(await loadedContent(store, name)).toEqual(model.content);
      default:
        return this.carryOutImport(deed, store, server);
    }
  }

  private async carryOutImport(
    deed: Extract<Deed, { slot: number }>,
    store: RedisEntryStore,
    server: number,
  ): Promise<void> {
    const { name, model } = this;
    const open = this.imports.get(deed.slot);
    if (deed.do === 'start') {
      if (open) return;
      const id = `import ${++this.importsStarted}`;
      this.imports.set(deed.slot, { id, server });
      expect(await store.startImport(name, id, undefined, PROFILE)).toEqual({ kind: 'ok' });
      return model.startImport(id);
    }
    if (!open) return;
    const { id } = open;
    const isOpen = model.hasImport(id);
    if (deed.do === 'batch') {
      const entries = storedMany(deed.count, deed.from, `imported ${deed.text}`);
      const answer = await store.putImported(name, id, entries);
      expect(answer).toEqual({ kind: isOpen ? 'ok' : 'lost' });
      return model.putImported(id, entries);
    }
    if (deed.do === 'commit') {
      expect(await store.commitImport(name, id)).toEqual({ kind: isOpen ? 'ok' : 'lost' });
      if (isOpen) model.commit(id);
    } else {
      await store.abandonImport(name, id);
      model.abandon(id);
    }
    this.imports.delete(deed.slot);
  }

  /** Each chunk is a write of its own, so the ids are deleted in the chunks of the store. */
  private deleteFromModel(ids: readonly string[]): number {
    let deleted = 0;
    for (let i = 0; i < ids.length; i += CHUNK) deleted += this.model.delete(ids.slice(i, i + CHUNK));
    return deleted;
  }

  /** After a stop, the other server finds the state before or after each script of the deed. An import is lost. */
  private async afterStop(deed: Deed, before: EntriesModel): Promise<void> {
    if (deed.do === 'recreate') {
      await this.on.store.drop(this.name);
      await this.on.store.create(this.name, PROFILE);
      return this.model.recreate();
    }
    const possible = [before];
    this.model = before.copy();
    if (deed.do === 'put') {
      this.model.put(storedMany(deed.count, deed.from, `text ${deed.text}`));
      possible.push(this.model);
    } else if (deed.do === 'delete') {
      const ids = idsOf(deed.count, deed.from);
      for (let i = 0; i < ids.length; i += CHUNK) {
        this.model = this.model.copy();
        this.model.delete(ids.slice(i, i + CHUNK));
        possible.push(this.model);
      }
    } else if (deed.do === 'select') {
      this.model.select(`id ${deed.id}`, deed.count);
      possible.push(this.model);
    }
    const open = 'slot' in deed ? this.imports.get(deed.slot) : undefined;
    if (open && 'slot' in deed) {
      const committed = before.copy();
      if (deed.do === 'commit') {
        committed.commit(open.id);
        possible.push(committed);
      }
      await this.on.store.abandonImport(this.name, open.id);
      for (const model of possible) model.abandon(open.id);
      this.imports.delete(deed.slot);
    }
    const { version } = await this.on.head(this.name);
    const found = possible.find((model) => model.version === version);
    expect(possible.map((model) => model.version)).toContain(version);
    this.model = found ?? before;
    expect(await loadedContent(this.on.other, this.name)).toEqual(this.model.content);
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof StoreFailure && error.carriedOut === 'unknown';
}

/** The store recognizes a repeated script for a longer time (KEPT_US). */
const MOST_AGE_MS = 20_000;
/** The entries of one chunk (writes.ts). */
const CHUNK = 100;
