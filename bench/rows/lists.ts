import { setTimeout as sleep } from 'node:timers/promises';
import { holdNames } from '../../test/support/leases/lease-requester';
import { connectTestStore } from '../../test/support/test-store';
import type { ListTasks } from '../load/list';
import type { UnaryTasks } from '../load/unary';
import { figure, tableLine, type Figure } from '../support/figures';
import { LoadProcess } from '../support/load-process';
import { onStage, type Stage } from '../support/stage';
import {
  disturbed,
  INNOCENT_PER_SECOND,
  phaseOf,
  STREAM_TTL_MS,
  STREAMS,
  totalOf,
  watch,
  type Phase,
  type Watched,
} from '../support/watched';
import type { Row, RowContext } from './row';

const NAMES = 300_000;
const QUICK_NAMES = 30_000;
const PREFIX = 'held/';
/** The default prefix of a server's keys. */
const KEY_PREFIX = 'holdfast';
const LEAST_MS = 6000;
/** The pairs of calls in flight in the load beside the innocent client, and the pairs in one task. */
const LOAD = { inFlight: 4, count: 400 };

type Lister = LoadProcess<ListTasks>;

/** Acquires the locks by commands of the store. */
async function hold(url: string, count: number): Promise<void> {
  const options = { serverId: 'bench', commandTimeoutMs: 20_000, prefix: KEY_PREFIX };
  const store = await connectTestStore(url, options);
  try {
    await holdNames(
      { id: options.serverId, store: store.permits },
      (function* () {
        for (let index = 0; index < count; index += 1) yield PREFIX + index;
      })(),
    );
  } finally {
    store.close();
  }
}

/** Redis's time for one list of each order, without other load. */
async function aloneCosts({ redis }: Stage, lister: Lister, count: number): Promise<Figure[]> {
  const during = async <T>(work: () => Promise<T>) => {
    await redis.resetStatistics();
    const startedAt = performance.now();
    const result = await work();
    const ms = performance.now() - startedAt;
    const { scripts, scriptMicroseconds } = await redis.commandCounts();
    const { nearlyAllScripts, script } = await redis.longest();
    const columns = (pages: number) => ({
      pages,
      scripts,
      'Redis per page': [scriptMicroseconds / 1000 / pages, 'ms'] as const,
      'Redis in all': [scriptMicroseconds / 1000, 'ms'] as const,
      'longest script': [script, 'ms'] as const,
      '99.9 % of scripts': [nearlyAllScripts, 'ms'] as const,
      time: [ms, 'ms'] as const,
    });
    return { result, columns };
  };
  const all = await during(() => lister.ask('all', { prefix: PREFIX }));
  const byWaiters = await during(() => lister.ask('byWaiters', undefined));
  const { names, repeated, pages } = all.result;
  return [
    figure('held locks that the list lacks', '', count - names, { most: 0 }),
    figure('held locks that the list shows again', '', repeated, { most: 0 }),
    ...tableLine('one list without other load', 'all pages', all.columns(pages)),
    ...tableLine('one list without other load', 'by waiters', byWaiters.columns(1)),
  ];
}

/** Repeats the work for the time of a phase. */
async function repeated(work: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + LEAST_MS;
  let count = 0;
  for (; count === 0 || performance.now() < end; count += 1) await work();
  return count;
}

interface Measured {
  readonly what: string;
  readonly phase: Phase;
  readonly times: number;
  /** In ms. */
  readonly longestScript: number;
}

/** Lists beside the load of other clients. */
async function underLoad(
  { server, redis, others }: Watched,
  lister: Lister,
  count: number,
): Promise<Figure[]> {
  const load = new LoadProcess<UnaryTasks>('unary');
  let stopped = false;
  let pairs = 0;
  const lacking: number[] = [];
  const again: number[] = [];
  const works = {
    'before: no list': () => sleep(LEAST_MS).then(() => 0),
    'all pages': () =>
      repeated(async () => {
        const { names, repeated } = await lister.ask('all', { prefix: PREFIX });
        lacking.push(count - names);
        again.push(repeated);
      }),
    'by waiters': () => repeated(() => lister.ask('byWaiters', undefined)),
    'afterwards: no list': () => sleep(LEAST_MS).then(() => 0),
  };
  try {
    await load.ask('connect', { address: server.listen, label: 'load' });
    const loading = (async () => {
      for (; !stopped; pairs += LOAD.count) await load.ask('work', { kind: 'pairs', ...LOAD });
    })();
    const measured: (Measured & { readonly pairs: number })[] = [];
    for (const [what, work] of Object.entries(works)) {
      await redis.resetStatistics();
      const pairsBefore = pairs;
      let times = 0;
      const phase = await phaseOf(async () => void (times = await work()));
      const { script: longestScript } = await redis.longest();
      measured.push({ what, phase, times, longestScript, pairs: pairs - pairsBefore });
    }
    stopped = true;
    await loading;
    // A stream that could not be renewed is told of its loss within this time.
    await sleep(STREAM_TTL_MS);
    await others.ask('stop', undefined);
    const lines: Figure[] = [];
    const goals: Figure[] = [];
    let p99Before: number | undefined;
    for (const { what, phase, times, longestScript, pairs: made } of measured) {
      const seconds = (phase.to - phase.from) / 1000;
      const { count: calls, failures, p50, p99, max } = await others.ask('latencies', phase);
      if (p99Before !== undefined) {
        goals.push(
          figure(`${what}: the innocent client's p99 by its p99 before`, '×', p99 / p99Before, { most: 2 }),
        );
      }
      p99Before ??= p99;
      lines.push(
        ...tableLine('the innocent client', what, {
          lists: times,
          time: [seconds, 's'],
          calls,
          failed: totalOf(failures),
          p50: [p50, 'ms'],
          p99: [p99, 'ms'],
          max: [max, 'ms'],
          'longest script': [longestScript, 'ms'],
          'pairs of the load': [made / seconds, '/s'],
        }),
      );
    }
    const losses = disturbed(await others.ask('events', undefined));
    return [
      figure('under load: held locks that a list lacks, at most', '', Math.max(...lacking), { most: 0 }),
      figure('under load: held locks that a list shows again, at most', '', Math.max(...again), { most: 0 }),
      ...goals,
      figure('streams told LOST, or late, or ended', '', losses, { most: 0 }),
      ...lines,
    ];
  } finally {
    stopped = true;
    load.end();
  }
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const count = quick ? QUICK_NAMES : NAMES;
  return onStage(async (stage) => {
    await hold(stage.redis.url, count);
    say(`${count.toLocaleString('en')} held locks`);
    const lister: Lister = new LoadProcess('list');
    try {
      await lister.ask('connect', { address: stage.server.listen });
      const alone = await aloneCosts(stage, lister, count);
      say('one list of each order without other load');
      return [...alone, ...(await watch(stage, (watched) => underLoad(watched, lister, count)))];
    } finally {
      lister.end();
    }
  });
}

export const lists: Row = {
  name: 'lists',
  title: 'Lists of 300,000 held locks while others are acquired and released',
  about:
    `Commands of the store acquire ${NAMES.toLocaleString('en')} locks, which stay held. A client lists all locks in pages ` +
    'of 500, and asks for the 50 locks with the most waiters, for which the server compares 20,000 names. First without ' +
    'other load, so that the time of all scripts in Redis is the time of the list. Then while ' +
    `${STREAMS} HoldLock streams with a TTL of ${STREAM_TTL_MS / 1000} s keep their leases, an innocent client acquires ` +
    `and releases its own locks ${INNOCENT_PER_SECOND} times a second on a connection of its own, and a load acquires and ` +
    `releases with ${LOAD.inFlight} pairs of calls in flight. The list is repeated for ${LEAST_MS / 1000} s. All processes ` +
    'share the machine. The longest script under load is time, not work: it includes moments in which the system takes ' +
    'the processor from Redis.',
  run,
};
