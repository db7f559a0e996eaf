/** Calls of AutocompleteService and of the empty method. */
import { setTimeout as sleep } from 'node:timers/promises';
import { status, type ServiceError } from '@grpc/grpc-js';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { AutocompleteClient, type Question } from './autocomplete-client';
import { batchesOf } from './batches';
import { BenchClient } from './bench-client';
import { entriesOf } from './entries';
import { inFlight, repeatedFor, timed, type Amount, type Span, type Timed } from './in-flight';
import { serveInBackground } from './serve-tasks';

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
      await connected().autocomplete.ask(question);
      return;
    } catch (error) {
      if ((error as ServiceError).code !== status.UNAVAILABLE) throw error;
      await sleep(RETRY_MS);
    }
  }
}

const tasks = {
  connect: async ({ address }: { address: string }) => {
    autocomplete?.close();
    bench?.close();
    autocomplete = new AutocompleteClient(address);
    bench = new BenchClient(address);
    await bench.empty();
    await words();
  },
  /** Resolves to the number of entries. */
  import: async ({ dictionary, corpus }: { dictionary: string; corpus: Corpus }) => {
    return connected().autocomplete.import(dictionary, entriesOf(itemsOf(await words(), corpus)));
  },
  /** Puts existing entries with another weight, `each` entries in a call, and 16 calls in flight. */
  put: async ({ dictionary, corpus, each }: { dictionary: string; corpus: Corpus; each: number }) => {
    const batches = [...batchesOf(entriesOf(itemsOf(await words(), corpus), 1), each)];
    await inFlight({ count: batches.length, inFlight: 16 }, (index) =>
      connected().autocomplete.put(dictionary, ...(batches[index] ?? [])),
    );
  },
  /** Records selections of the first entries. */
  select: ({ dictionary, count }: { dictionary: string; count: number }) =>
    inFlight({ count, inFlight: 16 }, async (index) => {
      await connected().autocomplete.select(dictionary, String(index % 1000));
    }),
  drop: async ({ dictionary }: { dictionary: string }) => {
    const { autocomplete } = connected();
    await autocomplete.call(autocomplete.stub.deleteDictionary, { dictionary });
  },
  /** The memory of a dictionary in the server (bytes). Undefined: the server has no index in its memory. */
  serverMemory: async ({ dictionary }: { dictionary: string }): Promise<number | undefined> => {
    const bytes = (await connected().autocomplete.get(dictionary))?.serverMemoryBytes;
    return bytes === undefined ? undefined : Number(bytes);
  },
  empty: (amount: Amount) => inFlight(amount, () => connected().bench.empty()),
  timedEmpty: ({ count }: { count: number }): Promise<Timed<void>> =>
    timed(new Array<string>(count).fill(''), () => connected().bench.empty()),
  ask: ({ questions, clients }: { questions: readonly Question[]; clients: number }) =>
    inFlight({ count: questions.length, inFlight: clients }, async (index) => {
      await connected().autocomplete.ask(questions[index] as Question);
    }),
  /** Asks the questions in turn. Resolves to the times and the ids of the suggested entries. */
  oneByOne: ({ questions }: { questions: readonly Question[] }): Promise<Timed<string[]>> =>
    timed(questions, async (question) => {
      const { suggestions } = await connected().autocomplete.ask(question);
      return suggestions.map(({ entryId }) => entryId);
    }),
  /** The time until the first answer of a server that may not have the dictionary in its memory (ms). */
  first: async ({ question }: { question: Question }) => {
    const startedAt = performance.now();
    await loaded(question);
    return performance.now() - startedAt;
  },
  /** Asks the questions repeatedly for this time. */
  askFor: ({ questions, ...span }: Span & { questions: readonly Question[] }) =>
    repeatedFor(span, (index) =>
      connected().autocomplete.ask(questions[index % questions.length] as Question),
    ),
  /** Adds `each` recents to the list of each user. */
  recents: async ({ users, each }: { users: number; each: number }) => {
    const items = [...itemsOf(await words(), { of: 'names', count: users * each })];
    await inFlight({ count: items.length, inFlight: 32 }, (index) =>
      connected().autocomplete.addRecent({ list: `user-${index % users}`, text: items[index]?.text ?? '' }),
    );
  },
};

export type SuggestTasks = typeof tasks;

serveInBackground(tasks);
