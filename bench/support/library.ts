import type { Question } from '../load/autocomplete-client';
import type { SuggestTasks } from '../load/suggest';
import type { TruthTasks } from '../load/truth';
import { corpusTitle, sampleOf, type Corpus } from '../words/corpus';
import { prepareWords, words } from '../words/words';
import { cpuDuring } from './cpu';
import { LoadGroup, LoadProcess } from './load-process';
import { PeerPool } from './peer-pool';
import type { Judged } from './reference';
import { closeStage, openStage, type Stage } from './stage';

const PROCESSES = 2;
const SAMPLE = 20_000;

/** A dictionary and the cost of its import. */
export interface Imported {
  readonly name: string;
  readonly entriesPerSecond: number;
  /** The CPU of an entry (µs). */
  readonly redisMicros: number;
  readonly serverMicros: number;
  /** The memory of an entry (bytes). The memory in the server is unknown to a server that has no index. */
  readonly redisBytes: number;
  readonly serverBytes: number | undefined;
  readonly held: Held;
}

/** The longest time for which a script, and a single command in a script, blocked Redis, by Redis's own clock (ms). */
export interface Held {
  readonly script: number;
  readonly command: number;
  /** The number of scripts that took more than 2 ms. */
  readonly slow: number;
}

/** The CPU of a call (µs). */
export interface Cost {
  readonly server: number;
  readonly redis: number;
}

export interface QueryCost extends Cost {
  /** The time inside the commands of Redis, by Redis's own clock (µs). */
  readonly commands: number;
}

/**
 * A server with dictionaries, and the systems that it is compared with. All rows of a run share them, because the import
 * of a large dictionary takes long. The first row that needs a dictionary imports it.
 */
export class Library {
  readonly peers = new PeerPool();
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
  async cost(questions: readonly Question[], clients: number): Promise<QueryCost> {
    const { redis } = this.stage;
    const share = Math.ceil(questions.length / PROCESSES);
    await redis.resetStatistics();
    const cpu = await this.cpuOf(questions.length, () =>
      this.group.askEach('ask', (index) => ({
        questions: questions.slice(index * share, (index + 1) * share),
        clients: clients / PROCESSES,
      })),
    );
    return { ...cpu, commands: (await redis.commandCounts()).microseconds / questions.length };
  }

  emptyCost(calls: number, clients: number): Promise<Cost> {
    const amount = { count: calls / PROCESSES, inFlight: clients / PROCESSES };
    return this.cpuOf(calls, () => this.group.ask('empty', amount));
  }

  /** Asks the questions for this time. Resolves to the number of answers and the exact time. */
  async askFor(
    questions: readonly Question[],
    clients: number,
    forMs: number,
  ): Promise<{ count: number; ms: number }> {
    const share = { questions, forMs };
    const parts =
      clients < PROCESSES
        ? [await this.group.first.ask('askFor', { ...share, clients })]
        : await this.group.ask('askFor', { ...share, clients: clients / PROCESSES });
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    return { count, ms: Math.max(...parts.map(({ ms }) => ms)) };
  }

  recall(corpus: Corpus, judged: readonly Judged[]) {
    return this.truth.ask('recall', { corpus, judged });
  }

  /** The longest blocking since Redis's statistics were last reset. */
  async held(): Promise<Held> {
    const { redis } = this.stage;
    const { script, command } = await redis.longest();
    return { script: script / 1000, command: command / 1000, slow: await redis.slowScripts() };
  }

  /** The CPU of the work, divided by `count` (µs). */
  async cpuOf(count: number, work: () => Promise<unknown>): Promise<Cost> {
    const { redis, server } = this.stage;
    const { spentMs } = await cpuDuring([server.pid, redis.pid], work);
    const [serverMs = NaN, redisMs = NaN] = spentMs;
    return { server: (serverMs * 1000) / count, redis: (redisMs * 1000) / count };
  }

  async close(): Promise<void> {
    this.group.end();
    this.truth.end();
    this.peers.end();
    await closeStage(this.stage);
  }

  private async import(name: string, corpus: Corpus): Promise<Imported> {
    const { redis } = this.stage;
    const { first } = this.group;
    await redis.resetStatistics();
    const memory = await redis.usedMemory();
    let [entries, ms] = [0, 0];
    const cpu = await this.cpuOf(1, async () => {
      ({ entries, ms } = await first.ask('import', { dictionary: name, corpus }));
    });
    const serverBytes = await first.ask('serverMemory', { dictionary: name });
    return {
      name,
      entriesPerSecond: (entries * 1000) / ms,
      serverMicros: cpu.server / entries,
      redisMicros: cpu.redis / entries,
      redisBytes: ((await redis.usedMemory()) - memory) / entries,
      serverBytes: serverBytes && serverBytes / entries,
      held: await this.held(),
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
