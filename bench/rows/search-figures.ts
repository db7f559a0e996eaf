import { readVersion } from '../../src/version';
import { peers, type PeerName } from '../peers';
import { MORE_ABILITIES, type Abilities } from '../peers/peer';
import { quantile, ratios } from '../support/statistics';
import { corpusTitle } from '../words/corpus';
import { Cells } from './cells';
import { figure } from './figure';
import type { Figure, Goal } from './row';
import type { Answered, Searched } from './search';

/** The cost of a search is the cost of a query without the cost of an empty call. Smaller costs are not told apart (µs). */
const LEAST_SEARCH = 1;

const OURS: Abilities = {
  prefix: 'yes',
  'word prefix': 'yes',
  suffix: 'yes',
  contains: 'yes',
  typo: 'yes',
  'best by weight': 'yes',
  'later pages': 'yes',
  'a write is seen at once': 'yes',
};

interface Column {
  readonly cpu: number;
  readonly search: number;
  /** The CPU of Redis, and the time inside its commands. */
  readonly redis?: number;
  readonly commands?: number;
}

function oursOf({ fresh, stale, empty }: Searched, which: 'fresh' | 'stale'): Column[] {
  return { fresh, stale }[which].rounds.map(({ server, redis, commands }, round) => {
    const base = empty.rounds[round] ?? { server: NaN, redis: NaN };
    const search = Math.max(server + redis - base.server - base.redis, LEAST_SEARCH);
    return { cpu: server + redis, search, redis, commands };
  });
}

/** The search alone has no rounds. */
function aloneOf({ alone: { cpu } }: Searched): Column[] {
  return [{ cpu, search: cpu }];
}

function theirsOf(peer: Searched['peers'][number]): Column[] {
  return peer.rounds.map(({ query, empty }) => ({
    cpu: query,
    search: Math.max(query - empty, LEAST_SEARCH),
  }));
}

function lineOf(table: string, line: string, costs: readonly Column[], answered: Partial<Answered<unknown>>) {
  const { times = [], recall } = answered;
  const cells = new Cells(table, line)
    .add(
      'CPU a query',
      costs.map(({ cpu }) => cpu),
      'µs',
    )
    .add(
      'of that the search',
      costs.map(({ search }) => search),
      'µs',
    )
    .add('p50', quantile(times, 0.5), 'ms')
    .add('p99', quantile(times, 0.99), 'ms');
  for (const [column, part] of [
    ['of that Redis', 'redis'],
    ['in its commands', 'commands'],
  ] as const) {
    const values = costs.flatMap((cost) => cost[part] ?? []);
    if (values.length > 0) cells.add(column, values, 'µs');
  }
  return recall === undefined ? cells : cells.add('recall', recall.found).add('in order', recall.placed);
}

/** A table with a line for each system, and the numbers that have goals. */
export function searchFigures(searched: Searched): Figure[] {
  const about = `${corpusTitle(searched.corpus)}, ${searched.group.title}`;
  const fresh = oursOf(searched, 'fresh');
  const empty = searched.empty.rounds.map(({ server, redis }) => ({ cpu: server + redis, search: 0 }));
  const lines = [
    lineOf(about, 'an empty call', empty, searched.empty),
    lineOf(about, 'Holdfast', fresh, searched.fresh),
    lineOf(about, 'Holdfast, max_staleness 1 s', oursOf(searched, 'stale'), searched.stale),
    lineOf(about, 'Holdfast, the search alone', aloneOf(searched), { times: searched.alone.times }),
    ...searched.peers.map((peer) => {
      const from = peer.shortest > 1 ? `, from ${peer.shortest} letters` : '';
      const line = lineOf(about, peers[peer.name].title + from, theirsOf(peer), peer);
      return line.add('search, by ours', ratios(searches(theirsOf(peer)), searches(fresh)), '×');
    }),
  ];
  return [...goalFigures(about, searched), ...lines.flatMap(({ figures }) => figures)];
}

function searches(costs: readonly Column[]): number[] {
  return costs.map(({ search }) => search);
}

function goalFigures(about: string, searched: Searched): Figure[] {
  const { group, fresh, empty } = searched;
  const servers = (rounds: readonly { readonly server: number }[]) => rounds.map(({ server }) => server);
  const byEmpty = ratios(servers(fresh.rounds), servers(empty.rounds));
  const goalOf = (what: string, unit: string, rounds: readonly number[], goal: Goal) =>
    figure(`${about}: ${what}`, unit, rounds, goal);
  const redis = fresh.rounds.map((round) => round.redis);
  return [
    ...(group.isCheap
      ? [
          goalOf("server CPU by an empty call's", '×', byEmpty, { most: 1.6 }),
          goalOf('Redis CPU a query', 'µs', redis, { most: 3 }),
        ]
      : []),
    goalOf('p99 of the search alone', 'ms', [quantile(searched.alone.times, 0.99)], { most: 2 }),
    goalOf('recall', '', [fresh.recall.found], { least: 1 }),
    ...cheapestPeer(searched).map(({ title, rounds }) =>
      goalOf(`search of the cheapest peer that answers alike (${title}), by ours alone`, '×', rounds, {
        least: 1,
      }),
    ),
  ];
}

/** A peer with a smaller recall gives other answers, often with less work. */
const LIKE_OURS = 0.95;

/** The ratios of the peer with the least CPU among those that answer alike. Empty: there is no such peer. */
function cheapestPeer(searched: Searched): { title: string; rounds: number[] }[] {
  const ours = searched.alone.cpu;
  const alike = searched.peers.filter(({ recall }) => recall.found >= LIKE_OURS);
  const all = alike.map((peer) => ({
    title: peers[peer.name].title,
    rounds: searches(theirsOf(peer)).map((theirs) => theirs / ours),
  }));
  return all.sort((a, b) => quantile(a.rounds, 0.5) - quantile(b.rounds, 0.5)).slice(0, 1);
}

/** A table of what each system can do. A peer without a version was not asked by this row. */
export function abilityFigures(versions: ReadonlyMap<PeerName, string>): Figure[] {
  const asks = ['prefix', 'word prefix', 'suffix', 'contains', 'typo'] as const;
  const line = (title: string, abilities: Abilities, version: string): Figure[] => {
    const cells = new Cells('What each system can answer', title).say('version', version);
    for (const ability of [...asks, ...MORE_ABILITIES]) cells.say(ability, abilities[ability]);
    return cells.figures;
  };
  const names = Object.keys(peers) as PeerName[];
  return [
    ...line('Holdfast', OURS, readVersion()),
    ...names.flatMap((name) =>
      line(peers[name].title, peers[name].abilities, versions.get(name) ?? 'not asked here'),
    ),
  ];
}
