import { answerOf, dictionaryText, importLost, noSuchDictionary, wrongCount } from './autocomplete-errors';
import type { Clock, Timer } from '../clock';
import type { DictionaryStore, FoldedEntry, StoredProfile } from './dictionary-store';
import { reportDefect } from '../errors';
import type { DictionaryView, Entry, ImportSession } from './suggestion';

/** An import whose client takes its time is heard of so often; the store gives up one that is silent for a minute. */
const HEARTBEAT_MS = 15_000;

export interface ImportParts {
  readonly store: DictionaryStore;
  readonly clock: Clock;
  readonly name: string;
  readonly importId: string;
  readonly profile: StoredProfile;
  foldEntry(entry: Entry, profile: StoredProfile): FoldedEntry;
  view(name: string): Promise<DictionaryView | undefined>;
  /** What is left to clean up is cleaned up soon. */
  tidy(name: string): void;
  onDefect(error: unknown): void;
}

export class StoreImport implements ImportSession {
  private received = 0;
  private over = false;
  private heartbeat: Timer | undefined;

  constructor(private readonly parts: ImportParts) {
    this.beat();
  }

  async put(entries: readonly Entry[]): Promise<void> {
    const { store, name, importId, profile, foldEntry } = this.parts;
    const folded = entries.map((entry) => foldEntry(entry, profile));
    const { kind } = await this.answerOf(store.putImported(name, importId, profile, folded), 'import again');
    if (kind === 'lost') throw importLost(name);
    this.received += entries.length;
  }

  async commit(entryCount: number): Promise<DictionaryView> {
    const { store, name, importId, view, tidy } = this.parts;
    if (entryCount !== this.received) {
      await this.abandon();
      throw wrongCount(name, entryCount, this.received);
    }
    this.end();
    try {
      const { kind } = await this.answerOf(
        store.commitImport(name, importId),
        'look at the generation of the dictionary, and import again if it is the old one',
      );
      if (kind === 'lost') throw importLost(name);
    } finally {
      tidy(name);
    }
    const dictionary = await view(name);
    if (dictionary === undefined) throw noSuchDictionary(name);
    return dictionary;
  }

  async abandon(): Promise<void> {
    const { store, name, importId, tidy, onDefect } = this.parts;
    this.end();
    try {
      await store.abandonImport(name, importId);
    } catch (error) {
      // The store gives up what is not heard of any more.
      reportDefect(error, onDefect);
    }
    tidy(name);
  }

  private answerOf<T>(work: Promise<T>, advice: string): Promise<T> {
    return answerOf(work, `the import of ${dictionaryText(this.parts.name)}`, advice);
  }

  private beat(): void {
    const { store, clock, name, importId, profile, onDefect } = this.parts;
    this.heartbeat = clock.after(HEARTBEAT_MS, () => {
      store
        .putImported(name, importId, profile, [])
        .catch((error: unknown) => reportDefect(error, onDefect))
        .finally(() => {
          if (!this.over) this.beat();
        })
        .catch(onDefect);
    });
  }

  private end(): void {
    this.over = true;
    this.heartbeat?.cancel();
  }
}
