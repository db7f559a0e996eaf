import type { ImportSession, Profile, Recent } from '../../src/engine/autocomplete/suggestion';
import { HoldfastError } from '../../src/engine/errors';
import type { Step } from './dictionary-arbitraries';
import type { DictionaryFixture } from './dictionary-fixture';
import { compare, DictionaryModel } from './dictionary-model';
import type { TypoRecall } from './typo-recall';
import { allListed, allPages, asExpected } from './dictionary-questions';

type ModelImport = ReturnType<DictionaryModel['startImport']>;

const RECENTS_CAPACITY = 4;

/** A dictionary and its model, which perform the same steps. */
export class DictionaryHistory {
  private readonly model: DictionaryModel;
  private readonly imports = new Map<number, { session: ImportSession; model: ModelImport }>();
  private recents: Recent[] = [];

  private constructor(
    private readonly on: DictionaryFixture,
    readonly name: string,
    profile: Profile,
    private readonly recall: TypoRecall,
  ) {
    this.model = new DictionaryModel(profile);
  }

  static async begin(
    on: DictionaryFixture,
    profile: Profile,
    recall: TypoRecall,
  ): Promise<DictionaryHistory> {
    const history = new DictionaryHistory(on, on.name(), profile, recall);
    await on.engine.createDictionary(history.name, profile);
    return history;
  }

  async step(step: Step): Promise<void> {
    const { name, model } = this;
    const { engine } = this.on;
    switch (step.do) {
      case 'put':
        await engine.putEntries(name, step.entries);
        return step.entries.forEach((entry) => model.put(entry));
      case 'delete':
        return expect(await engine.deleteEntries(name, step.ids)).toBe(
          step.ids.filter((id) => model.delete(id)).length,
        );
      case 'select':
        return expect(await engine.recordSelection(name, step.id, step.count)).toBe(
          model.select(step.id, step.count),
        );
      case 'recent':
        await engine.addRecent(name, step.recent, RECENTS_CAPACITY);
        return this.addRecent(step.recent);
      case 'list':
        return this.list(step);
      case 'suggest':
        return this.suggest(step);
      default:
        return this.import(step);
    }
  }

  /** Ends all imports, compares everything again, deletes the dictionary, and expects that no key is left. */
  async end(): Promise<void> {
    for (const slot of [...this.imports.keys()]) await this.import({ do: 'abandon', slot });
    await this.list({ from: '', to: '', pageSize: 500 });
    expect(await this.on.checkAtRest(this.name)).toEqual([]);
    expect(await this.on.engine.getDictionary(this.name)).toMatchObject({
      entryCount: this.model.size,
      imports: [],
    });
    await this.on.engine.deleteDictionary(this.name);
    await this.on.engine.deleteRecents(this.name);
    expect(await this.on.checkAtRest(this.name)).toEqual([]);
  }

  private async suggest(asked: Extract<Step, { do: 'suggest' }>): Promise<void> {
    const { query, kinds, pageSize, recents } = asked;
    const recentsList = recents ? this.name : '';
    const found = await allPages(this.on.engine, {
      dictionary: this.name,
      query,
      kinds,
      pageSize,
      recentsList,
    });
    const expected = this.model.suggest({ query, kinds, recents: recents ? this.recents : [] });
    // A recent without an id has the id of its entry in the answer, if the same page has the entry.
    const known = found.map((one, i) =>
      asExpected(one.recent && expected[i]?.entryId === '' ? { ...one, entryId: '' } : one),
    );
    expect(known).toEqual(this.recall.compare(query, known, expected));
    for (const { segments, text } of found) expect(segments.map((one) => one.text).join('')).toBe(text);
  }

  private async list({ from, to, pageSize }: { from: string; to: string; pageSize: number }): Promise<void> {
    const found = await allListed(this.on.engine, { dictionary: this.name, from, to, pageSize });
    const texts = found.map(({ text }) => this.model.fold(text));
    expect(texts).toEqual([...texts].sort(compare));
    // Entries with the same text are in the order of their arrival, which is not part of the model.
    const sorted = found.sort(
      (a, b) => compare(this.model.fold(a.text), this.model.fold(b.text)) || compare(a.entryId, b.entryId),
    );
    const plain = sorted.map((one) => ({ ...one, payload: new Uint8Array(one.payload) }));
    expect(plain).toEqual(this.model.list(from, to));
  }

  private async import(step: Extract<Step, { slot: number }>): Promise<void> {
    const { engine } = this.on;
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
      const put = await outcome(session.put(step.entries));
      return expect(put).toBe(this.model.putImported(model, step.entries));
    }
    this.imports.delete(step.slot);
    if (step.do === 'commit') {
      const { received } = model;
      const answer = await outcome(session.commit(received));
      expect(answer).toBe(this.model.commit(model));
      // The transport abandons an import that failed.
      return answer === 'ok' ? undefined : session.abandon();
    }
    this.model.abandon(model);
    if (step.do === 'abandon') return session.abandon();
    expect(await outcome(session.commit(model.received + 1))).toBe('INVALID_FIELD');
  }

  private addRecent(recent: Recent): void {
    const same = (other: Recent) =>
      recent.entryId === ''
        ? other.entryId === '' && other.text === recent.text
        : other.entryId === recent.entryId;
    this.recents = [recent, ...this.recents.filter((one) => !same(one))].slice(0, RECENTS_CAPACITY);
  }
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
