import {
  answerOf,
  dictionaryText,
  importLost,
  noSuchDictionary,
  stateAfterChange,
  wrongCount,
} from './autocomplete-errors';
import type { Clock, Timer } from '../clock';
import type { DictionaryStore, StoredProfile } from './dictionary-store';
import { reportDefect } from '../errors';
import { foldEntry } from './fold-entry';
import type { DictionaryView, Entry, ImportSession } from './suggestion';

/** The pause between heartbeats of an open import. The store ends an import after a minute without a heartbeat. */
const HEARTBEAT_MS = 15_000;

const IMPORT_ADVICE = 'check the generation of the dictionary, and import again if it has not risen';

export interface ImportOptions {
  readonly store: DictionaryStore;
  readonly clock: Clock;
  readonly name: string;
  readonly importId: string;
  readonly profile: StoredProfile;
  view(name: string): Promise<DictionaryView | undefined>;
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

  async put(entries: readonly Entry[]): Promise<void> {
    const { store, name, importId, profile } = this.options;
    const folded = entries.map((entry) => foldEntry(entry, profile));
    const { kind } = await this.answerOf(store.putImported(name, importId, profile, folded), 'import again');
    if (kind === 'lost') throw importLost(name);
    this.received += entries.length;
  }

  async commit(entryCount: number): Promise<DictionaryView> {
    const { store, name, importId, view, sweepSoon } = this.options;
    if (entryCount !== this.received) {
      await this.abandon();
      throw wrongCount(name, entryCount, this.received);
    }
    this.end();
    try {
      const { kind } = await this.answerOf(store.commitImport(name, importId), IMPORT_ADVICE);
      if (kind === 'lost') throw importLost(name);
    } finally {
      sweepSoon(name);
    }
    const dictionary = await stateAfterChange(view(name), dictionaryText(name), IMPORT_ADVICE);
    if (dictionary === undefined) throw noSuchDictionary(name);
    return dictionary;
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

  private answerOf<T>(work: Promise<T>, advice: string): Promise<T> {
    return answerOf(work, `the import of ${dictionaryText(this.options.name)}`, advice);
  }

  private beat(): void {
    const { store, clock, name, importId, profile, onDefect } = this.options;
    this.heartbeat = clock.after(HEARTBEAT_MS, () => {
      store
        .putImported(name, importId, profile, [])
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
