import { MATCH_KINDS, type MatchKind } from '../../src/autocomplete/suggestion';
import { seeded, type Random } from '../../test/support/random';
import type { Question } from '../load/autocomplete-client';
import type { Timed } from '../load/in-flight';
import { peers, type PeerName } from '../peers';
import type { Ask } from '../peers/peer';
import type { RunningPeer } from '../peers/running-peer';
import { figure, tableLine, takeRounds, type Figure, type Goal } from '../support/figures';
import { library, type Library } from '../support/library';
import type { Recall } from '../support/reference';
import { meanOf, type Cost, type FullCost } from '../support/stage';
import { quantile, timesOf } from '../support/statistics';
import { corpusTitle, type Corpus } from '../words/corpus';
import type { Texts } from '../words/queries';
import type { RowContext } from './row';
import { corporaFor } from './sizes';

const CLIENTS = 64;
/** Every n-th query is compared with the reference. The number shares no factor with the numbers of lengths. */
const JUDGED = 13;
const STALENESS_S = 1;
const SEED = 1;
/** The cost of a search is the cost of a query without the cost of an empty call. Smaller costs are not told apart (µs). */
const LEAST_SEARCH = 1;
/** A peer with a smaller recall gives other answers, often with less work. */
const LIKE_OURS = 0.95;

/** Queries of one kind. */
export interface SearchGroup {
  readonly title: string;
  /** Undefined: no other system answers such queries. */
  readonly ask?: Ask;
  /** An empty list stands for all kinds. */
  readonly kinds: readonly MatchKind[];
  readonly queries: (random: Random, texts: Texts, amount: number) => string[];
  /** Whether the bounds of the server's CPU and of Redis's CPU hold for this group. */
  readonly isCheap?: true;
}

const AMOUNTS = { warmUps: 2, rounds: 5, queries: 6400, timed: 2600, peerMs: 1000 };
const QUICK: typeof AMOUNTS = { warmUps: 2, rounds: 2, queries: 320, timed: 104, peerMs: 200 };

const OURS = 'Holdfast';
const STALE = 'Holdfast, max_staleness 1 s';
const EMPTY = 'an empty call';
const SEARCH = 'of that the search';

/** The kinds by the numbers of the contract, which start with 1. */
export function numbersOf(kinds: readonly MatchKind[]): number[] {
  return kinds.map((kind) => MATCH_KINDS.indexOf(kind) + 1);
}

function searchOf(query: number, empty: number): number {
  return Math.max(query - empty, LEAST_SEARCH);
}

function total({ server, redis }: Cost): number {
  return server + redis;
}

/** Searches one corpus with Holdfast and with its peers, in turn. */
class Search {
  private readonly random = seeded(SEED);
  private readonly about: string;

  private constructor(
    private readonly place: Library,
    private readonly corpus: Corpus,
    private readonly group: SearchGroup,
    private readonly texts: Texts,
    private readonly amounts: typeof AMOUNTS,
  ) {
    this.about = `${corpusTitle(corpus)}, ${group.title}`;
  }

  static async run(place: Library, corpus: Corpus, group: SearchGroup, { quick, say }: RowContext) {
    const search = new Search(place, corpus, group, await place.texts(corpus), quick ? QUICK : AMOUNTS);
    return search.measure(say);
  }

  private async measure(say: (text: string) => void): Promise<Figure[]> {
    const { place, corpus, amounts } = this;
    const { name } = await place.dictionary(corpus);
    const running = await this.openPeers(say);
    const costs = await takeRounds(amounts, () => this.round(name, running));
    say(`${this.about}: ${amounts.rounds} rounds of ${amounts.queries} queries`);
    const queries = this.next(amounts.timed);
    const judged = queries.filter((_, index) => index % JUDGED === 0);
    const inOrder = [...judged, ...queries.filter((_, index) => index % JUDGED !== 0)];
    const { first } = place.group;
    const answered = async (line: string, maxStalenessS?: number) => {
      const found = await first.ask('oneByOne', { questions: this.questions(name, inOrder, maxStalenessS) });
      const recall = await this.recall(judged, found, false);
      return { recall, figures: this.answers(line, found.times, recall) };
    };
    const ours = await answered(OURS);
    const stale = await answered(STALE, STALENESS_S);
    const theirs: { peer: RunningPeer; recall: Recall; figures: Figure[] }[] = [];
    for (const peer of running) theirs.push({ peer, ...(await this.judgePeer(peer, judged)) });
    const alone = await this.searchAlone();
    const alike = theirs.filter(({ recall }) => recall.found >= LIKE_OURS).map(({ peer }) => peer);
    const empty = await first.ask('timedEmpty', { count: amounts.timed });
    return [
      this.goal('p99 of the search alone', 'ms', quantile(alone.times, 0.99), { most: 2 }),
      this.goal('recall', '', ours.recall.found, { least: 1 }),
      ...this.cheapestOf(alike, costs, alone.cpu),
      ...costs,
      ...this.line('Holdfast, the search alone', {
        'CPU a query': [alone.cpu, 'µs'],
        [SEARCH]: [alone.cpu, 'µs'],
      }),
      ...this.answers(EMPTY, empty.times),
      ...ours.figures,
      ...stale.figures,
      ...this.answers('Holdfast, the search alone', alone.times),
      ...theirs.flatMap(({ figures }) => figures),
    ];
  }

  private async round(name: string, running: readonly RunningPeer[]): Promise<Figure[]> {
    const { place, group, amounts } = this;
    const queries = this.next(amounts.queries);
    const before = await place.emptyCost(queries.length, CLIENTS);
    const fresh = await place.cost(this.questions(name, queries), CLIENTS);
    const stale = await place.cost(this.questions(name, queries, STALENESS_S), CLIENTS);
    const empty = meanOf(before, await place.emptyCost(queries.length, CLIENTS));
    const ourSearch = searchOf(total(fresh), total(empty));
    const figures = [
      ...this.line(EMPTY, { 'CPU a query': [total(empty), 'µs'], [SEARCH]: [0, 'µs'] }),
      ...this.costs(OURS, fresh, empty),
      ...this.costs(STALE, stale, empty),
    ];
    for (const peer of running) {
      const cost = await peer.cost(this.peerQueries(peer, queries), amounts.peerMs);
      const search = searchOf(cost.query, cost.empty);
      figures.push(
        ...this.line(this.lineOf(peer), {
          'CPU a query': [cost.query, 'µs'],
          [SEARCH]: [search, 'µs'],
          'search, by ours': [search / ourSearch, '×'],
        }),
      );
    }
    if (!group.isCheap) return figures;
    return [
      this.goal("server CPU by an empty call's", '×', fresh.server / empty.server, { most: 1.6 }),
      this.goal('Redis CPU a query', 'µs', fresh.redis, { most: 3 }),
      ...figures,
    ];
  }

  private line(line: string, columns: Parameters<typeof tableLine>[2]): Figure[] {
    return tableLine(this.about, line, columns);
  }

  private costs(line: string, cost: FullCost, empty: Cost): Figure[] {
    return this.line(line, {
      'CPU a query': [total(cost), 'µs'],
      [SEARCH]: [searchOf(total(cost), total(empty)), 'µs'],
      'of that Redis': [cost.redis, 'µs'],
      'in its commands': [cost.inCommands, 'µs'],
    });
  }

  private answers(line: string, times: readonly number[], recall?: Recall): Figure[] {
    const { p50, p99 } = timesOf(times);
    return this.line(line, {
      p50: [p50, 'ms'],
      p99: [p99, 'ms'],
      recall: recall?.found,
      'in order': recall?.placed,
    });
  }

  private goal(what: string, unit: string, value: number, goal: Goal): Figure {
    return figure(`${this.about}: ${what}`, unit, value, goal);
  }

  /** The peer with the cheapest search among those that answer alike, compared with the search alone. */
  private cheapestOf(alike: readonly RunningPeer[], costs: readonly Figure[], ours: number): Figure[] {
    const searches = alike.map((peer) => {
      const what = `${this.lineOf(peer)}: ${SEARCH}`;
      return { peer, search: costs.find((one) => one.what === what)?.value.median ?? NaN };
    });
    const [cheapest] = searches.sort((a, b) => a.search - b.search);
    if (cheapest === undefined) return [];
    const { title } = cheapest.peer;
    const what = `search of the cheapest peer that answers alike (${title}), by ours alone`;
    return [this.goal(what, '×', cheapest.search / ours, { least: 1 })];
  }

  private async openPeers(say: (text: string) => void): Promise<RunningPeer[]> {
    const { ask } = this.group;
    const names = Object.keys(peers) as PeerName[];
    const able = ask === undefined ? [] : names.filter((name) => shortestOf(name, ask) !== undefined);
    const running = await this.place.peers.all(peers, able, say);
    for (const peer of running) await peer.load(this.corpus);
    return running;
  }

  private searchAlone() {
    const { place, corpus, group, amounts } = this;
    const [warmUp, queries] = [this.next(amounts.timed), this.next(amounts.timed)];
    return place.truth.ask('search', { corpus, kinds: group.kinds, queries, warmUp });
  }

  private next(amount: number): string[] {
    return this.group.queries(this.random, this.texts, amount);
  }

  private questions(dictionary: string, queries: readonly string[], maxStalenessS?: number): Question[] {
    const stale = maxStalenessS === undefined ? {} : { maxStalenessS };
    return queries.map((query) => ({ dictionary, query, kinds: numbersOf(this.group.kinds), ...stale }));
  }

  /** The queries that are long enough for the peer. */
  private peerQueries(peer: RunningPeer, all: readonly string[]) {
    const { corpus, group } = this;
    if (group.ask === undefined) throw new Error('no peer answers these queries');
    const shortest = shortestOf(peer.name, group.ask) ?? Infinity;
    return { corpus, ask: group.ask, queries: all.filter((query) => query.length >= shortest) };
  }

  private lineOf({ name, title }: RunningPeer): string {
    const shortest = (this.group.ask && shortestOf(name, this.group.ask)) ?? 0;
    return shortest > 1 ? `${title}, from ${shortest} letters` : title;
  }

  private async judgePeer(peer: RunningPeer, judged: readonly string[]) {
    const asked = this.peerQueries(peer, judged);
    const answered = await peer.process.ask('oneByOne', { ...asked, forMs: 10 * this.amounts.peerMs });
    const recall = await this.recall(asked.queries, answered, true);
    return { recall, figures: this.answers(this.lineOf(peer), answered.times, recall) };
  }

  /** The recall of the answers to the first queries. */
  private recall(queries: readonly string[], { answers }: Timed<string[]>, byWeight: boolean) {
    const kinds = this.group.kinds.length === 0 ? MATCH_KINDS : this.group.kinds;
    const known = queries.slice(0, answers.length);
    const judged = known.map((query, index) => ({ query, kinds, byWeight, answered: answers[index] ?? [] }));
    return this.place.truth.ask('recall', { corpus: this.corpus, judged });
  }
}

function shortestOf(name: PeerName, ask: Ask): number | undefined {
  return (peers[name].shortest as Partial<Record<Ask, number>>)[ask];
}

export async function measureSearches(
  groups: readonly SearchGroup[],
  context: RowContext,
): Promise<Figure[]> {
  const place = await library(context.say);
  const figures: Figure[] = [];
  for (const corpus of corporaFor(context)) {
    for (const group of groups) figures.push(...(await Search.run(place, corpus, group, context)));
  }
  return figures;
}
