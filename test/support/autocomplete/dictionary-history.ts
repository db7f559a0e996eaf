import type { Autocomplete } from '../../../src/autocomplete/autocomplete';
import type { ImportSession, ListedEntry, Profile, Recent } from '../../../src/autocomplete/suggestion';
import { HoldfastError } from '../../../src/base/errors';
import {
  allListed,
  allPages,
  asExpected,
  type DictionaryFixture,
  type EngineOfPage,
  NOW,
  storedOf,
} from './dictionary-fixture';
import { DictionaryModel } from './dictionary-model';
import type { Askers, Deed, Step } from './dictionary-texts';

type ModelImport = ReturnType<DictionaryModel['startImport']>;
type ListDeed = Extract<Deed, { do: 'list' }>;

const EVERYTHING = { from: '', to: '', pageSize: 500, pageToken: '', asked: NOW };

const RECENTS_CAPACITY = 4;

/** A dictionary at two servers and its model, which perform the same steps. */
export class DictionaryHistory {
  private readonly model: DictionaryModel;
  private readonly imports = new Map<number, { session: ImportSession; model: ModelImport }>();
  private recents: Recent[] = [];

  private constructor(
    private readonly on: DictionaryFixture,
    readonly name: string,
    profile: Profile,
  ) {
    this.model = new DictionaryModel(profile);
  }

  static async begin(on: DictionaryFixture, profile: Profile): Promise<DictionaryHistory> {
    const history = new DictionaryHistory(on, on.name(), profile);
    await on.engine.createDictionary(history.name, profile);
    return history;
  }

  async step(step: Step): Promise<void> {
    const { name, model } = this;
    const { engine, indexes } = this.on.servers[step.server];
    switch (step.do) {
      case 'put':
        await engine.putEntries(name, storedOf(...step.entries));
        return step.entries.forEach((entry) => model.put(entry));
      case 'delete':
        return expect(await engine.deleteEntries(name, step.ids)).toBe(model.delete(step.ids));
      case 'select':
        return expect(await engine.recordSelection(name, step.id, step.count)).toBe(
          model.select(step.id, step.count),
        );
      case 'recent':
        await engine.addRecent(name, step.recent, RECENTS_CAPACITY);
        return this.addRecent(step.recent);
      case 'forget':
        return indexes.forget(name);
      case 'list':
        return this.list(step);
      case 'suggest':
        return this.suggest(step);
      default:
        return this.import(step, engine);
    }
  }

  /** Ends all imports, compares everything again, deletes the dictionary, and expects that no key is left. */
  async end(): Promise<void> {
    const { engine, otherEngine } = this.on;
    for (const { session, model } of this.imports.values()) {
      this.model.abandon(model);
      await session.abandon();
    }
    await this.list({ from: '', to: '', pageSize: 500, askers: 'both' });
    expect(await this.on.checkAtRest(this.name)).toEqual([]);
    expect(await engine.getDictionary(this.name)).toMatchObject({ entryCount: this.model.size, imports: [] });
    await engine.deleteDictionary(this.name);
    await engine.deleteRecents(this.name);
    expect(await this.on.checkAtRest(this.name)).toEqual([]);
    expect(await outcome(otherEngine.listEntries({ ...EVERYTHING, dictionary: this.name }))).toBe(
      'NO_SUCH_DICTIONARY',
    );
  }

  private async suggest(asked: Extract<Step, { do: 'suggest' }>): Promise<void> {
    const { query, kinds, pageSize, recents } = asked;
    const request = { dictionary: this.name, query, kinds, pageSize, recentsList: recents ? this.name : '' };
    const expected = this.model.suggest({ query, kinds, recents: recents ? this.recents : [] });
    const all = await Promise.all(this.askers(asked.askers).map((ask) => allPages(ask, request)));
    for (const found of all) {
      // A recent without an id has the id of its entry in the answer, if the same page has the entry.
      const known = found.map((one, i) =>
        asExpected(one.recent && expected[i]?.entryId === '' ? { ...one, entryId: '' } : one),
      );
      expect(known).toEqual(expected);
      for (const { segments, text } of found) {
        expect(segments.map((one) => one.text).join('')).toBe(text);
      }
    }
  }

  private async list({ from, to, pageSize, askers }: Omit<ListDeed, 'do'>): Promise<void> {
    const request = { dictionary: this.name, from, to, pageSize };
    const expected = this.model.list(from, to);
    const all = await Promise.all(this.askers(askers).map((ask) => allListed(ask, request)));
    for (const found of all) {
      expect(found.map(plain)).toEqual(expected);
    }
  }

  /** The engines that answer: for each walk through the pages, the engine of each page. */
  private askers(askers: Askers): readonly EngineOfPage[] {
    const { engine, otherEngine } = this.on;
    switch (askers) {
      case 'one':
        return [() => engine];
      case 'other':
        return [() => otherEngine];
      case 'both':
        return [() => engine, () => otherEngine];
      case 'in turn':
        return [(page) => (page % 2 === 0 ? engine : otherEngine)];
    }
  }

  private async import(step: Extract<Deed, { slot: number }>, engine: Autocomplete): Promise<void> {
    const open = this.imports.get(step.slot);
    if (step.do === 'begin') {
      if (open) return;
      const session = await engine.startImport(this.name, undefined);
      this.imports.set(step.slot, { session, model: this.model.startImport() });
      return;
    }
    if (!open) return;
    const { session, model } = open;
    if (step.do === 'batch') {
      const put = await outcome(session.put(storedOf(...step.entries)));
      return expect(put).toBe(this.model.putImported(model, step.entries));
    }
    this.imports.delete(step.slot);
    if (step.do === 'commit') {
      const { received } = model;
      const answer = await outcome(session.commit(received));
      expect(answer).toBe(this.model.commit(model));
      // The transport abandons an import that failed.
      return answer === 'ok' ? this.loadNewGeneration() : session.abandon();
    }
    this.model.abandon(model);
    if (step.do === 'abandon') return session.abandon();
    expect(await outcome(session.commit(model.received + 1))).toBe('INVALID_FIELD');
  }

  /** A server that has the old generation may answer from it until it has loaded the new generation. */
  private async loadNewGeneration(): Promise<void> {
    for (const { indexes } of this.on.servers) {
      if (indexes.stateOf(this.name).loadState === 'ready') await indexes.load(this.name, NOW.patienceMs);
    }
  }

  private addRecent(recent: Recent): void {
    const same = (other: Recent) =>
      recent.entryId === ''
        ? other.entryId === '' && other.text === recent.text
        : other.entryId === recent.entryId;
    this.recents = [recent, ...this.recents.filter((one) => !same(one))].slice(0, RECENTS_CAPACITY);
  }
}

/** The fields of the contract. */
function plain({ entryId, text, aliases, weight, payload, selectionCount }: ListedEntry): ListedEntry {
  return { entryId, text, aliases, weight, payload: new Uint8Array(payload), selectionCount };
}

async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return error.reason === 'IMPORT_CONFLICT' ? 'lost' : error.reason;
  }
}
