import type { Question } from '../load/autocomplete-client';
import type { SuggestTasks } from '../load/suggest';
import type { TruthTasks } from '../load/truth';
import { RunningPeer } from '../peers/running-peer';
import { corpusTitle, sampleOf, type Corpus } from '../words/corpus';
import { prepareWords, words } from '../words/words';
import { LoadGroup, LoadProcess } from './load-process';
import type { Longest } from './redis';
import { closeStage, costOf, openStage, type FullCost, type Stage } from './stage';
import { sum } from './statistics';
import { StartedOnce } from './yardsticks';

const PROCESSES = 2;
const SAMPLE = 20_000;

/** A dictionary and the cost of its import. */
export interface Imported {
  readonly name: string;
  /** The cost of an entry. */
  readonly cost: FullCost;
  /** The memory of an entry (bytes). The memory in the server is unknown to a server that has no index. */
  readonly redisBytes: number;
  readonly serverBytes: number | undefined;
  readonly longest: Longest;
}

/**
 * A server with dictionaries, and the systems that it is compared with. All rows of a run share them, because the import
 * of a large dictionary takes long. The first row that needs a dictionary imports it.
 */
export class Library {
  readonly peers = new StartedOnce(RunningPeer.start);
  readonly truth = new LoadProcess<TruthTasks>('truth');
  private readonly imported = new Map<string, Promise<Imported>>();
  private readonly samples = new Map<string, readonly string[]>();

  private constructor(
    readonly stage: Stage,
    readonly group: LoadGroup<SuggestTasks>,
  ) {}

  static async open(say: (text: string) => void): Promise<Library> {
    await prepareWords(say);
    say((await words()).source);
    const library = new Library(await openStage(), new LoadGroup<SuggestTasks>('suggest', PROCESSES));
    try {
      await library.group.ask('connect', { address: library.stage.server.listen });
      return library;
    } catch (error) {
      await library.close();
      throw error;
    }
  }

  /** Imports each corpus once. */
  dictionary(corpus: Corpus): Promise<Imported> {
    const name = corpusTitle(corpus);
    const known = this.imported.get(name) ?? this.import(name, corpus);
    this.imported.set(name, known);
    return known;
  }

  /** Forgets a dictionary that a row has changed. The next use imports the dictionary again. */
  forget({ name }: Imported): void {
    this.imported.delete(name);
  }

  /** The folded texts of some entries, for queries. */
  async texts(corpus: Corpus): Promise<readonly string[]> {
    const name = corpusTitle(corpus);
    const texts =
      this.samples.get(name) ?? sampleOf(await words(), corpus, SAMPLE).map(({ folded }) => folded);
    this.samples.set(name, texts);
    return texts;
  }

  /** Asks all questions with this number of concurrent clients. */
  cost(questions: readonly Question[], clients: number): Promise<FullCost> {
    const share = Math.ceil(questions.length / PROCESSES);
    return this.costOf(questions.length, () =>
      this.group.askEach('ask', (index) => ({
        questions: questions.slice(index * share, (index + 1) * share),
        clients: clients / PROCESSES,
      })),
    );
  }

  emptyCost(calls: number, clients: number): Promise<FullCost> {
    const amount = { count: calls / PROCESSES, inFlight: clients / PROCESSES };
    return this.costOf(calls, () => this.group.ask('empty', amount));
  }

  /** Asks the questions for this time. */
  costFor(questions: readonly Question[], clients: number, forMs: number): Promise<FullCost> {
    return costOf(this.stage, async () => {
      const share = { questions, forMs };
      const parts =
        clients < PROCESSES
          ? [await this.group.first.ask('askFor', { ...share, clients })]
          : await this.group.ask('askFor', { ...share, clients: clients / PROCESSES });
      return sum(parts.map(({ count }) => count));
    });
  }

  costOf(count: number, work: () => Promise<unknown>): Promise<FullCost> {
    return costOf(this.stage, () => work().then(() => count));
  }

  async close(): Promise<void> {
    this.group.end();
    this.truth.end();
    await this.peers.end();
    await closeStage(this.stage);
  }

  private async import(name: string, corpus: Corpus): Promise<Imported> {
    const { redis } = this.stage;
    const { first } = this.group;
    await redis.resetStatistics();
    const memory = await redis.usedMemory();
    const cost = await costOf(this.stage, () => first.ask('import', { dictionary: name, corpus }));
    const serverBytes = await first.ask('serverMemory', { dictionary: name });
    return {
      name,
      cost,
      redisBytes: ((await redis.usedMemory()) - memory) / corpus.count,
      serverBytes: serverBytes && serverBytes / corpus.count,
      longest: await redis.longest(),
    };
  }
}

let shared: Promise<Library> | undefined;

/** The library of this run. */
export function library(say: (text: string) => void): Promise<Library> {
  return (shared ??= Library.open(say));
}

export async function closeLibrary(): Promise<void> {
  await (await shared)?.close();
}
