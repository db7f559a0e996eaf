/** Puts, selections and queries at a fixed rate. A call starts at its time, even if earlier calls have no answer yet. */
import { setTimeout as sleep } from 'node:timers/promises';
import { between, oneOf, seeded } from '../../test/support/random';
import { endingOf } from '../../test/support/clients/calls';
import { timesOf, type Times } from '../support/statistics';
import { zipf } from '../support/zipf';
import { itemsOf, type Corpus, type Item } from '../words/corpus';
import { typed } from '../words/queries';
import { words } from '../words/words';
import { AutocompleteClient } from './autocomplete-client';
import { entryOf } from './entries';
import { serveInBackground } from './serve-tasks';

const STEP_MS = 5;
const QUERIES = 20_000;
const LONGEST_QUERY = 12;
const SEED = 5;
/** Put weights differ by up to this number. */
const MOST_ADDED = 1000;

export interface Rates {
  readonly puts: number;
  readonly selections: number;
  readonly queries: number;
}

/** The times of the calls of one kind (ms). */
export interface Answered extends Times {
  readonly count: number;
  /** Calls that failed, by the reason. */
  readonly failures: Readonly<Record<string, number>>;
}

const random = seeded(SEED);
let client: AutocompleteClient | undefined;
let items: readonly Item[] = [];
let queries: readonly string[] = [];

/** Starts calls at this rate for this time, and resolves when all have their answers. */
async function atRate(perSecond: number, forMs: number, call: () => Promise<unknown>): Promise<Answered> {
  const times: number[] = [];
  const open: Promise<void>[] = [];
  const failures: Record<string, number> = {};
  const startedAt = performance.now();
  for (let elapsed = 0; elapsed < forMs; elapsed = performance.now() - startedAt) {
    while (open.length < (elapsed * perSecond) / 1000) {
      const calledAt = performance.now();
      const end = () => void times.push(performance.now() - calledAt);
      const fail = (error: unknown) => {
        const { code, reason } = endingOf(error);
        const outcome = reason ?? code ?? 'no status';
        failures[outcome] = (failures[outcome] ?? 0) + 1;
      };
      open.push(call().then(end, fail));
    }
    await sleep(STEP_MS);
  }
  await Promise.all(open);
  return { count: times.length, failures, ...timesOf(times) };
}

const tasks = {
  connect: async ({ address, corpus }: { address: string; corpus: Corpus }) => {
    client = new AutocompleteClient(address);
    items = [...itemsOf(await words(), corpus)];
    queries = typed(
      random,
      items.map(({ folded }) => folded),
      QUERIES,
      LONGEST_QUERY,
    );
  },
  /** Puts existing entries with other weights, and selects entries by Zipf's law. */
  run: async ({ dictionary, rates, forMs }: { dictionary: string; rates: Rates; forMs: number }) => {
    const connected = client;
    if (connected === undefined) throw new Error('call connect first');
    const byRank = zipf(items.length);
    const selected = () => items[byRank(random)]?.id ?? '';
    const [put, selection, query] = await Promise.all([
      atRate(rates.puts, forMs, () =>
        connected.put(dictionary, entryOf(oneOf(random, items), between(random, 0, MOST_ADDED))),
      ),
      atRate(rates.selections, forMs, () => connected.select(dictionary, selected())),
      atRate(rates.queries, forMs, () =>
        connected.ask({ dictionary, query: oneOf(random, queries), kinds: [] }),
      ),
    ]);
    return { put, selection, query };
  },
};

export type SteadyTasks = typeof tasks;

serveInBackground(tasks);
