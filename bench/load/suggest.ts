/** Calls of AutocompleteService and of the empty method, with a fixed number of calls in flight. */
import { constants, setPriority } from 'node:os';
import type { Entry } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { entryIdOf, people } from '../support/people';
import { shardOf } from '../support/shards';
import { AutocompleteClient, type Question } from './autocomplete-client';
import { BenchClient } from './bench-client';
import { inFlight, type Amount } from './in-flight';
import { serveTasks } from './serve-tasks';

/** The people that become the entries of a dictionary. */
export interface Part {
  /** The first `count` people. */
  readonly count: number;
  /** Only the people in shard `index` of `of` shards. */
  readonly shard?: { readonly index: number; readonly of: number };
}

export interface Answer {
  readonly entryIds: readonly string[];
  /** Whether the server stopped the query at its bound. */
  readonly partial: boolean;
}

let autocomplete: AutocompleteClient | undefined;
let bench: BenchClient | undefined;

function connected(): { autocomplete: AutocompleteClient; bench: BenchClient } {
  if (autocomplete === undefined || bench === undefined) throw new Error('call connect first');
  return { autocomplete, bench };
}

function entriesOf({ count, shard }: Part, score: (weight: number) => number = (weight) => weight): Entry[] {
  return people(count).flatMap(({ name, weight }, index) => {
    if (shard !== undefined && shardOf(name, shard.of) !== shard.index) return [];
    const payload = Buffer.alloc(0);
    return [{ entryId: entryIdOf(index), text: name, aliases: [], weight: BigInt(score(weight)), payload }];
  });
}

// This process has a low priority, because Redis is measured and must not wait for a core.
setPriority(constants.priority.PRIORITY_LOW);

const tasks = {
  connect: async ({ address }: { address: string }) => {
    autocomplete = new AutocompleteClient(address);
    bench = new BenchClient(address);
    await bench.empty();
  },
  /** Generates the people, so that a measured import does not generate them. */
  know: ({ count }: Part) => Promise.resolve(void entriesOf({ count })),
  import: async ({ dictionary, typos, ...part }: Part & { dictionary: string; typos: boolean }) => {
    const entries = entriesOf(part);
    const startedAt = performance.now();
    await connected().autocomplete.import(dictionary, typos, entries);
    return { entries: entries.length, ms: performance.now() - startedAt };
  },
  /** Puts existing entries with another weight, so that the store rewrites all their records. */
  put: ({ dictionary, count }: { dictionary: string; count: number }) =>
    connected().autocomplete.put(
      dictionary,
      entriesOf({ count }, (weight) => weight + 1),
    ),
  drop: ({ dictionary }: { dictionary: string }) => connected().autocomplete.deleteDictionary(dictionary),
  empty: (amount: Amount) => inFlight(amount, () => connected().bench.empty()),
  ask: async ({ questions, clients }: { questions: readonly Question[]; clients: number }) => {
    const { autocomplete } = connected();
    let partial = 0;
    await inFlight({ count: questions.length, inFlight: clients }, async (index) => {
      if ((await autocomplete.suggest(questions[index] as Question)).partial) partial += 1;
    });
    return { partial };
  },
  /** Asks the questions in turn and returns the answers. */
  answers: async ({ questions }: { questions: readonly Question[] }): Promise<Answer[]> => {
    const answers: Answer[] = [];
    for (const question of questions) {
      const { suggestions, partial } = await connected().autocomplete.suggest(question);
      answers.push({ entryIds: suggestions.map(({ entryId }) => entryId), partial });
    }
    return answers;
  },
  /** Asks the questions repeatedly for this time. Resolves to the number of answers and the exact time. */
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
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (performance.now() < startedAt + forMs) {
          await autocomplete.suggest(questions[count++ % questions.length] as Question);
        }
      }),
    );
    return { count, ms: performance.now() - startedAt };
  },
  /** Adds `each` recents to the list of each user. */
  recents: ({ users, each }: { users: number; each: number }) => {
    const entries = entriesOf({ count: users * each });
    return inFlight({ count: users * each, inFlight: 32 }, (index) =>
      connected().autocomplete.addRecent(`user-${index % users}`, entries[index]?.text ?? ''),
    );
  },
};

export type SuggestTasks = typeof tasks;

serveTasks(tasks);
