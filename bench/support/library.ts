import { constants, setPriority } from 'node:os';
import type { Question } from '../load/autocomplete-client';
import type { Part, SuggestTasks } from '../load/suggest';
import { cpuMs } from './cpu';
import { LoadGroup } from './load-process';
import { closeStage, openStage, type Stage } from './stage';

const PROCESSES = 2;

/** A dictionary and the cost of its import. */
export interface Imported {
  readonly name: string;
  readonly entries: number;
  readonly entriesPerSecond: number;
  /** The CPU of an entry (µs). */
  readonly redisMicros: number;
  readonly serverMicros: number;
  /** The memory of an entry in Redis (bytes). */
  readonly bytes: number;
  readonly held: Held;
}

/** The longest time for which a script, and a single command in a script, blocked Redis, by Redis's own clock (ms). */
export interface Held {
  readonly script: number;
  readonly command: number;
  /** The number of scripts that took more than 2 ms. */
  readonly slow: number;
}

/** The cost of a question (µs). */
export interface Cost {
  readonly server: number;
  readonly redis: number;
  /** The time inside the script, by Redis's own clock (µs). */
  readonly script: number;
  readonly p50: number;
  readonly p99: number;
  /** The share of partial answers, 0 to 1. */
  readonly partial: number;
}

/**
 * A server with dictionaries, which all rows of a run share, because the import of a large dictionary takes minutes. The
 * first row that needs a dictionary imports it.
 */
export class Library {
  private readonly imported = new Map<string, Promise<Imported>>();

  private constructor(
    readonly stage: Stage,
    readonly group: LoadGroup<SuggestTasks>,
  ) {}

  static async open(): Promise<Library> {
    const stage = await openStage();
    setPriority(stage.server.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const group = new LoadGroup<SuggestTasks>('suggest', PROCESSES);
    const library = new Library(stage, group);
    try {
      await group.ask('connect', { address: stage.server.listen });
      return library;
    } catch (error) {
      await library.close();
      throw error;
    }
  }

  /** Imports each part once. */
  dictionary(part: Part & { readonly typos: boolean }): Promise<Imported> {
    const { count, typos, shard } = part;
    const which = shard ? `, shard ${shard.index} of ${shard.of}` : '';
    const name = `${count} people, typos ${typos ? 'on' : 'off'}${which}`;
    const known = this.imported.get(name) ?? this.import(name, part);
    this.imported.set(name, known);
    return known;
  }

  /** Forgets a dictionary that a row has changed. The next use imports the dictionary again. */
  forget({ name }: Imported): void {
    this.imported.delete(name);
  }

  /** Asks all questions with this number of concurrent clients. */
  async cost(questions: readonly Question[], clients: number): Promise<Cost> {
    const { redis } = this.stage;
    const share = Math.ceil(questions.length / PROCESSES);
    await redis.resetStatistics();
    let partial = 0;
    const cpu = await this.cpuOf(questions.length, async () => {
      const answers = await this.group.askEach('ask', (index) => ({
        questions: questions.slice(index * share, (index + 1) * share),
        clients: clients / PROCESSES,
      }));
      partial = answers.reduce((sum, one) => sum + one.partial, 0);
    });
    const { scriptMicroseconds } = await redis.commandCounts();
    const { p50, p99 } = await redis.scriptTimes();
    const script = scriptMicroseconds / questions.length;
    return { ...cpu, script, p50, p99, partial: partial / questions.length };
  }

  /** The server CPU of an empty call (µs). */
  async emptyCost(calls: number, clients: number): Promise<number> {
    const amount = { count: calls / PROCESSES, inFlight: clients / PROCESSES };
    return (await this.cpuOf(calls, () => this.group.ask('empty', amount))).server;
  }

  /** The round trips to Redis for one question. */
  async roundTrips(questions: readonly Question[]): Promise<number> {
    const { redis } = this.stage;
    const [first, second] = [await redis.reads(), await redis.reads()];
    await this.group.first.ask('ask', { questions, clients: 1 });
    // The second `reads()` command itself is a read, which does not count.
    const all = (await redis.reads()) - second - (second - first);
    return Math.round((all / questions.length) * 100) / 100;
  }

  /** The mean time from a question to its answer, one question at a time (ms). */
  async duration(questions: readonly Question[]): Promise<number> {
    const startedAt = performance.now();
    await this.group.first.ask('ask', { questions, clients: 1 });
    return (performance.now() - startedAt) / questions.length;
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

  /** The longest blocking since Redis's statistics were last reset. */
  async held(): Promise<Held> {
    const { redis } = this.stage;
    const { script, command } = await redis.longest();
    return { script: script / 1000, command: command / 1000, slow: await redis.slowScripts() };
  }

  async close(): Promise<void> {
    this.group.end();
    await closeStage(this.stage);
  }

  private async cpuOf(
    count: number,
    work: () => Promise<unknown>,
  ): Promise<{ server: number; redis: number }> {
    const { redis, server } = this.stage;
    const before = [cpuMs(server.pid), cpuMs(redis.pid)] as const;
    await work();
    const after = [cpuMs(server.pid), cpuMs(redis.pid)] as const;
    return {
      server: ((after[0] - before[0]) * 1000) / count,
      redis: ((after[1] - before[1]) * 1000) / count,
    };
  }

  private async import(name: string, part: Part & { readonly typos: boolean }): Promise<Imported> {
    const { redis } = this.stage;
    const loader = this.group.first;
    await loader.ask('know', part);
    await redis.resetStatistics();
    const memory = await redis.usedMemory();
    let [entries, ms] = [0, 0];
    const cpu = await this.cpuOf(1, async () => {
      ({ entries, ms } = await loader.ask('import', { dictionary: name, ...part }));
    });
    return {
      name,
      entries,
      entriesPerSecond: (entries * 1000) / ms,
      serverMicros: cpu.server / entries,
      redisMicros: cpu.redis / entries,
      bytes: ((await redis.usedMemory()) - memory) / entries,
      held: await this.held(),
    };
  }
}

let shared: Promise<Library> | undefined;

/** The library of this run. */
export function library(): Promise<Library> {
  return (shared ??= Library.open());
}

export async function closeLibrary(): Promise<void> {
  await (await shared)?.close();
}
