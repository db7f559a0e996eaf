/** Calls of AutocompleteService and of the empty method. */
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { status, type ServiceError } from '@grpc/grpc-js';
import { quantile } from '../support/statistics';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { AutocompleteClient, type Question } from './autocomplete-client';
import { batchesOf } from './batches';
import { BenchClient } from './bench-client';
import { entriesOf } from './entries';
import { inFlight, type Amount } from './in-flight';
import { serveTasks } from './serve-tasks';
import { timed, type Timed } from './timed';

const RETRY_MS = 1;

let autocomplete: AutocompleteClient | undefined;
let bench: BenchClient | undefined;

function connected(): { autocomplete: AutocompleteClient; bench: BenchClient } {
  if (autocomplete === undefined || bench === undefined) throw new Error('call connect first');
  return { autocomplete, bench };
}

/** Asks again while the server loads the dictionary. */
async function loaded(question: Question): Promise<void> {
  for (;;) {
    try {
      await connected().autocomplete.suggest(question);
      return;
    } catch (error) {
      if ((error as ServiceError).code !== status.UNAVAILABLE) throw error;
      await sleep(RETRY_MS);
    }
  }
}

// This process has a low priority, because the server is measured and must not wait for a core.
setPriority(constants.priority.PRIORITY_LOW);

const tasks = {
  connect: async ({ address }: { address: string }) => {
    autocomplete?.close();
    bench?.close();
    autocomplete = new AutocompleteClient(address);
    bench = new BenchClient(address);
    await bench.empty();
  },
  import: async ({ dictionary, corpus }: { dictionary: string; corpus: Corpus }) => {
    const entries = entriesOf(itemsOf(await words(), corpus));
    const startedAt = performance.now();
    const count = await connected().autocomplete.import(dictionary, entries);
    return { entries: count, ms: performance.now() - startedAt };
  },
  /** Imports several dictionaries with the same entries, a few at the same time. */
  importMany: async ({ dictionaries, corpus }: { dictionaries: readonly string[]; corpus: Corpus }) => {
    const entries = [...entriesOf(itemsOf(await words(), corpus))];
    await inFlight({ count: dictionaries.length, inFlight: 8 }, async (index) => {
      await connected().autocomplete.import(dictionaries[index] as string, entries);
    });
  },
  /** Puts existing entries with another weight, `each` entries in a call, and 16 calls in flight. */
  put: async ({ dictionary, corpus, each }: { dictionary: string; corpus: Corpus; each: number }) => {
    const batches = [...batchesOf(entriesOf(itemsOf(await words(), corpus), 1), each)];
    const startedAt = performance.now();
    await inFlight({ count: batches.length, inFlight: 16 }, (index) =>
      connected().autocomplete.put(dictionary, batches[index] ?? []),
    );
    return { ms: performance.now() - startedAt };
  },
  /** Records selections of the first entries. */
  select: ({ dictionary, count }: { dictionary: string; count: number }) =>
    inFlight({ count, inFlight: 16 }, (index) =>
      connected().autocomplete.select(dictionary, String(index % 1000)),
    ),
  drop: ({ dictionary }: { dictionary: string }) => connected().autocomplete.deleteDictionary(dictionary),
  /** The memory of a dictionary in the server (bytes). Undefined: the server has no index in its memory. */
  serverMemory: async ({ dictionary }: { dictionary: string }): Promise<number | undefined> => {
    const found = await connected().autocomplete.getDictionary(dictionary);
    const { serverMemoryBytes } = found as typeof found & { readonly serverMemoryBytes?: bigint };
    return serverMemoryBytes === undefined ? undefined : Number(serverMemoryBytes);
  },
  empty: (amount: Amount) => inFlight(amount, () => connected().bench.empty()),
  timedEmpty: ({ count }: { count: number }): Promise<Timed<void>> =>
    timed(new Array<string>(count).fill(''), () => connected().bench.empty()),
  ask: ({ questions, clients }: { questions: readonly Question[]; clients: number }) =>
    inFlight({ count: questions.length, inFlight: clients }, async (index) => {
      await connected().autocomplete.suggest(questions[index] as Question);
    }),
  /** Asks the questions in turn. Resolves to the times and the ids of the suggested entries. */
  oneByOne: ({ questions }: { questions: readonly Question[] }): Promise<Timed<string[]>> =>
    timed(questions, async (question) => {
      const { suggestions } = await connected().autocomplete.suggest(question);
      return suggestions.map(({ entryId }) => entryId);
    }),
  /** The time until the first answer of a server that may not have the dictionary in its memory (ms). */
  first: async ({ question }: { question: Question }) => {
    const startedAt = performance.now();
    await loaded(question);
    return performance.now() - startedAt;
  },
  /** Asks the questions repeatedly for this time. Resolves to the number and the times of the answers (ms), and the exact time. */
  askFor: async ({
    questions,
    clients,
    forMs,
  }: {
    questions: readonly Question[];
    clients: number;
    forMs: number;
  }) => {
    const { autocomplete } = connected();
    const startedAt = performance.now();
    let count = 0;
    const times: number[] = [];
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (performance.now() < startedAt + forMs) {
          const askedAt = performance.now();
          await autocomplete.suggest(questions[count++ % questions.length] as Question);
          times.push(performance.now() - askedAt);
        }
      }),
    );
    const ms = performance.now() - startedAt;
    return { count, ms, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
  },
  /** Adds `each` recents to the list of each user. */
  recents: async ({ users, each }: { users: number; each: number }) => {
    const items = [...itemsOf(await words(), { of: 'names', count: users * each })];
    await inFlight({ count: items.length, inFlight: 32 }, (index) =>
      connected().autocomplete.addRecent(`user-${index % users}`, items[index]?.text ?? ''),
    );
  },
};

export type SuggestTasks = typeof tasks;

serveTasks(tasks);
