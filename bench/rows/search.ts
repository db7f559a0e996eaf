import { MATCH_KINDS, type MatchKind } from '../../src/engine/autocomplete/suggestion';
import { seeded, type Random } from '../../test/support/random';
import type { Question } from '../load/autocomplete-client';
import type { Timed } from '../load/timed';
import type { SearchTimes } from '../load/truth';
import { peers, type PeerName } from '../peers';
import type { Ask } from '../peers/peer';
import { library, type Cost, type Library, type QueryCost } from '../support/library';
import type { RunningPeer } from '../support/peer-pool';
import type { Recall } from '../support/reference';
import { corpusTitle, type Corpus } from '../words/corpus';
import type { Texts } from '../words/queries';
import type { Figure, RowContext } from './row';
import { searchFigures } from './search-figures';
import { corporaFor } from './sizes';

const CLIENTS = 64;
/** Every n-th query is compared with the reference. The number shares no factor with the numbers of lengths. */
const JUDGED = 13;
const STALENESS_S = 1;
const WARM_UP_ROUNDS = 2;
const SEED = 1;

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

/** The costs of each round, and the answers of one call at a time. */
export interface Answered<C> {
  readonly rounds: readonly C[];
  /** The times of one call at a time (ms). */
  readonly times: readonly number[];
  readonly recall: Recall;
}

export interface PeerCost {
  readonly query: number;
  readonly empty: number;
}

export interface Searched {
  readonly group: SearchGroup;
  readonly corpus: Corpus;
  readonly empty: Omit<Answered<Cost>, 'recall'>;
  readonly fresh: Answered<QueryCost>;
  readonly stale: Answered<QueryCost>;
  readonly alone: SearchTimes;
  readonly peers: readonly (Answered<PeerCost> & { readonly name: PeerName; readonly shortest: number })[];
}

interface Amounts {
  readonly rounds: number;
  readonly queries: number;
  readonly timed: number;
  readonly peerMs: number;
}

const AMOUNTS: Amounts = { rounds: 5, queries: 6400, timed: 2600, peerMs: 1000 };
const QUICK: Amounts = { rounds: 2, queries: 320, timed: 104, peerMs: 200 };

/** The kinds by the numbers of the contract, which start with 1. */
function numbersOf(kinds: readonly MatchKind[]): number[] {
  return kinds.map((kind) => MATCH_KINDS.indexOf(kind) + 1);
}

/** Searches one corpus with Holdfast and with its peers, in turn. */
class Search {
  private readonly random = seeded(SEED);

  private constructor(
    private readonly place: Library,
    private readonly corpus: Corpus,
    private readonly group: SearchGroup,
    private readonly texts: Texts,
    private readonly amounts: Amounts,
  ) {}

  static async run(place: Library, corpus: Corpus, group: SearchGroup, { quick, say }: RowContext) {
    const search = new Search(place, corpus, group, await place.texts(corpus), quick ? QUICK : AMOUNTS);
    return search.measure(say);
  }

  private async measure(say: (text: string) => void): Promise<Searched> {
    const { place, corpus, group, amounts } = this;
    const { name } = await place.dictionary(corpus);
    const running = await this.openPeers(say);
    const rounds: { empty: Cost; fresh: QueryCost; stale: QueryCost; peers: PeerCost[] }[] = [];
    for (let turn = -WARM_UP_ROUNDS; turn < amounts.rounds; turn += 1) {
      const queries = this.next(amounts.queries);
      const before = await place.emptyCost(queries.length, CLIENTS);
      const fresh = await place.cost(this.questions(name, queries), CLIENTS);
      const stale = await place.cost(this.questions(name, queries, STALENESS_S), CLIENTS);
      const after = await place.emptyCost(queries.length, CLIENTS);
      const peers: PeerCost[] = [];
      for (const peer of running) peers.push(await this.peerCost(peer, queries));
      if (turn >= 0) rounds.push({ empty: meanOf(before, after), fresh, stale, peers });
    }
    const { fresh, stale, judged } = await this.judgeOurs(name);
    const theirs = [];
    for (const [index, peer] of running.entries()) {
      const costs = rounds.map(({ peers }) => peers[index] as PeerCost);
      theirs.push({ ...(await this.judgePeer(peer, judged)), rounds: costs });
    }
    say(`${corpusTitle(corpus)}, ${group.title}: ${rounds.length} rounds of ${amounts.queries} queries`);
    const alone = await this.searchAlone();
    const timedEmpty = await place.group.first.ask('timedEmpty', { count: amounts.timed });
    return {
      group,
      corpus,
      empty: { rounds: rounds.map(({ empty }) => empty), times: timedEmpty.times },
      fresh: { ...fresh, rounds: rounds.map((round) => round.fresh) },
      stale: { ...stale, rounds: rounds.map((round) => round.stale) },
      alone,
      peers: theirs,
    };
  }

  private async openPeers(say: (text: string) => void): Promise<RunningPeer[]> {
    const { ask } = this.group;
    const names = Object.keys(peers) as PeerName[];
    const able = ask === undefined ? [] : names.filter((name) => shortestOf(name, ask) !== undefined);
    const running = await this.place.peers.open(able, say);
    for (const peer of running) await peer.load(this.corpus);
    return running;
  }

  private searchAlone(): Promise<SearchTimes> {
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

  private async judgeOurs(dictionary: string) {
    const queries = this.next(this.amounts.timed);
    const judged = queries.filter((_, index) => index % JUDGED === 0);
    const inOrder = [...judged, ...queries.filter((_, index) => index % JUDGED !== 0)];
    const { first } = this.place.group;
    const fresh = await first.ask('oneByOne', { questions: this.questions(dictionary, inOrder) });
    const stale = await first.ask('oneByOne', {
      questions: this.questions(dictionary, inOrder, STALENESS_S),
    });
    return {
      fresh: { times: fresh.times, recall: await this.recall(judged, fresh, false) },
      stale: { times: stale.times, recall: await this.recall(judged, stale, false) },
      judged,
    };
  }

  private peerCost(peer: RunningPeer, queries: readonly string[]): Promise<PeerCost> {
    return peer.cost(this.peerQueries(peer, queries), this.amounts.peerMs);
  }

  /** The queries that are long enough for the peer. */
  private peerQueries(peer: RunningPeer, all: readonly string[]) {
    const { corpus, group } = this;
    if (group.ask === undefined) throw new Error('no peer answers these queries');
    const shortest = shortestOf(peer.name, group.ask) ?? Infinity;
    return { corpus, ask: group.ask, queries: all.filter((query) => query.length >= shortest) };
  }

  private async judgePeer(peer: RunningPeer, judged: readonly string[]) {
    const { name } = peer;
    const asked = this.peerQueries(peer, judged);
    const answered = await peer.process.ask('oneByOne', { ...asked, forMs: 10 * this.amounts.peerMs });
    const recall = await this.recall(asked.queries, answered, true);
    return { name, shortest: shortestOf(name, asked.ask) ?? 0, times: answered.times, recall };
  }

  private recall(judged: readonly string[], { answers }: Timed<string[]>, byWeight: boolean) {
    const kinds = this.group.kinds.length === 0 ? MATCH_KINDS : this.group.kinds;
    const known = judged.slice(0, answers.length);
    return this.place.recall(
      this.corpus,
      known.map((query, index) => ({ query, kinds, byWeight, answered: answers[index] ?? [] })),
    );
  }
}

function shortestOf(name: PeerName, ask: Ask): number | undefined {
  return (peers[name].shortest as Partial<Record<Ask, number>>)[ask];
}

function meanOf(one: Cost, other: Cost): Cost {
  return { server: (one.server + other.server) / 2, redis: (one.redis + other.redis) / 2 };
}

export async function measureSearches(
  groups: readonly SearchGroup[],
  context: RowContext,
): Promise<Figure[]> {
  const place = await library(context.say);
  const figures: Figure[] = [];
  for (const corpus of corporaFor(context.quick)) {
    for (const group of groups) {
      figures.push(...searchFigures(await Search.run(place, corpus, group, context)));
    }
  }
  return figures;
}
