import { answerOf, dictionaryText, importLost, stateAfterChange, wrongCount } from './autocomplete-errors';
import type { Clock, Timer } from '../base/clock';
import type { DictionaryIndexes, DictionaryView, ImportSession, StoredEntry } from './suggestion';
import type { EntryStore } from './entry-store';
import { HoldfastError, reportDefect } from '../base/errors';
import type { ImportQuota } from './quota/check';

/** The pause between heartbeats of an open import. The store ends an import after a minute without a heartbeat. */
const HEARTBEAT_MS = 15_000;

/** How long a commit waits until this server has loaded the new generation. */
const LOAD_PATIENCE_MS = 60_000;

const IMPORT_ADVICE = 'check the generation of the dictionary, and import again if it has not risen';

export interface ImportOptions {
  readonly store: EntryStore;
  readonly indexes: Pick<DictionaryIndexes, 'load'>;
  readonly clock: Clock;
  readonly name: string;
  readonly importId: string;
  /** The identity that owns the dictionary if this import creates it. Empty: nobody. */
  readonly owner: string;
  /** Undefined: the caller has no quota. */
  readonly quota: ImportQuota | undefined;
  view(name: string): Promise<DictionaryView>;
  /** Sweeps the dictionary in the background. */
  sweepSoon(name: string): void;
  onDefect(error: unknown): void;
}

export class StoreImport implements ImportSession {
  private received = 0;
  private ended = false;
  private heartbeat: Timer | undefined;

  constructor(private readonly options: ImportOptions) {
    this.beat();
  }

  async put(entries: readonly StoredEntry[]): Promise<void> {
    const { store, name, importId, quota } = this.options;
    await quota?.add(entries);
    const { kind } = await this.answerOf(store.putImported(name, importId, entries), 'import again');
    if (kind === 'lost') throw importLost(name);
    this.received += entries.length;
  }

  async commit(entryCount: number): Promise<DictionaryView> {
    const { indexes, name, view, sweepSoon, onDefect } = this.options;
    if (entryCount !== this.received) {
      await this.abandon();
      throw wrongCount(name, entryCount, this.received);
    }
    this.end();
    try {
      const { kind } = await this.commitNow();
      if (kind === 'lost') throw importLost(name);
    } catch (error) {
      // Without a commit, the import would take memory and a place for another minute.
      void this.abandon();
      throw error;
    }
    sweepSoon(name);
    // The commit has succeeded, so a failed load is no error of the import. The next query loads the new generation, or
    // reports why the load fails.
    await indexes.load(name, LOAD_PATIENCE_MS).catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) onDefect(error);
    });
    return stateAfterChange(view(name), dictionaryText(name), IMPORT_ADVICE);
  }

  async abandon(): Promise<void> {
    const { store, name, importId, sweepSoon, onDefect } = this.options;
    this.end();
    try {
      await store.abandonImport(name, importId);
    } catch (error) {
      // The store ends the import after a minute without a heartbeat.
      reportDefect(error, onDefect);
    }
    sweepSoon(name);
  }

  private commitNow() {
    const { store, name, importId, owner, quota } = this.options;
    const commit = () => this.answerOf(store.commitImport(name, importId, owner), IMPORT_ADVICE);
    return quota === undefined ? commit() : quota.commit(commit);
  }

  private answerOf<T>(work: Promise<T>, advice: string): Promise<T> {
    return answerOf(work, `the import of ${dictionaryText(this.options.name)}`, advice);
  }

  private beat(): void {
    const { store, clock, name, importId, onDefect } = this.options;
    this.heartbeat = clock.after(HEARTBEAT_MS, () => {
      store
        .putImported(name, importId, [])
        .catch((error: unknown) => reportDefect(error, onDefect))
        .finally(() => {
          if (!this.ended) this.beat();
        })
        .catch(onDefect);
    });
  }

  private end(): void {
    this.ended = true;
    this.heartbeat?.cancel();
  }
}
