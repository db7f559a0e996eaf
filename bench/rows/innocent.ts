import { setTimeout as sleep } from 'node:timers/promises';
import type { BystanderCounts } from '../../test/support/attacks/bystanders';
import type { Latencies } from '../load/bystanders';
import type { SuggestTasks } from '../load/suggest';
import { LoadProcess } from '../support/load-process';
import type { LoopDelay } from '../support/loop-monitor';
import { startBenchServer } from '../support/server';
import { onStage } from '../support/stage';
import {
  INNOCENT_PER_SECOND,
  phaseOf,
  STREAM_TTL_MS,
  STREAMS,
  watch,
  type Phase,
  type Watched,
} from '../support/watched';
import { corpusTitle, type Corpus } from '../words/corpus';
import { prepareWords } from '../words/words';
import { Cells } from './cells';
import { disturbed, sum } from './counts';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';
import { corporaFor } from './sizes';

const QUIET_MS = 6000;
/** The shortest phase, so that the innocent client makes enough calls. */
const LEAST_MS = 2000;
const DICTIONARY = 'names';

interface Measured {
  readonly what: string;
  readonly ms: number;
  readonly latencies: Latencies;
  readonly loop: LoopDelay;
}

interface Outcome {
  readonly phases: readonly Measured[];
  readonly bystanders: BystanderCounts;
}

type Suggest = LoadProcess<SuggestTasks>;

/** The work of dictionaries, in order. The second server loads the dictionary when it is first asked. */
function worksOf(corpus: Corpus, first: Suggest, second: Suggest) {
  const all = { dictionary: DICTIONARY, corpus };
  const question = { dictionary: DICTIONARY, query: 'a', kinds: [] };
  const askBoth = () => Promise.all([first, second].map((one) => one.ask('first', { question })));
  return {
    'before: no dictionary': () => sleep(QUIET_MS),
    'an import': async () => {
      await first.ask('import', all);
      await first.ask('first', { question });
    },
    'a load by a second server': () => second.ask('first', { question }),
    'an import over the old entries, and both servers asked': async () => {
      await first.ask('import', all);
      await askBoth();
    },
    'afterwards, both servers asked': () => askBoth().then(() => sleep(QUIET_MS)),
  };
}

async function measure(watched: Watched, corpus: Corpus, { say }: RowContext): Promise<Outcome> {
  const { server, redis, bench, others } = watched;
  const otherServer = await startBenchServer(redis.url);
  const first: Suggest = new LoadProcess('suggest');
  const second: Suggest = new LoadProcess('suggest');
  try {
    await first.ask('connect', { address: server.listen });
    await second.ask('connect', { address: otherServer.listen });
    const times: { what: string; phase: Phase; loop: LoopDelay }[] = [];
    for (const [what, work] of Object.entries(worksOf(corpus, first, second))) {
      await bench.loopDelay();
      const phase = await phaseOf(() => Promise.all([work(), sleep(LEAST_MS)]));
      times.push({ what, phase, loop: await bench.loopDelay() });
      say(`${what}: ${((phase.to - phase.from) / 1000).toFixed(1)} s`);
    }
    // A stream that could not be renewed is told of its loss within this time.
    await sleep(STREAM_TTL_MS);
    await others.ask('stop', undefined);
    const phases: Measured[] = [];
    for (const { what, phase, loop } of times) {
      const latencies = await others.ask('latencies', phase);
      phases.push({ what, ms: phase.to - phase.from, latencies, loop });
    }
    return { phases, bystanders: await others.ask('events', undefined) };
  } finally {
    first.end();
    second.end();
    await otherServer.close();
  }
}

function figuresOf({ phases, bystanders }: Outcome): Figure[] {
  const [before, ...others] = phases;
  const goals = others.map(({ what, latencies }) => {
    const byBefore = latencies.p99 / (before?.latencies.p99 ?? NaN);
    return figure(`${what}: the innocent client's p99 by its p99 before`, '×', [byBefore], { most: 2 });
  });
  const losses = figure('streams told LOST, or late, or ended', '', [disturbed(bystanders)], { most: 0 });
  const lines = phases.flatMap(
    ({ what, ms, latencies, loop }) =>
      new Cells('the innocent client', what)
        .add('time', ms / 1000, 's')
        .add('calls', latencies.count)
        .add('failed', sum(latencies.failures))
        .add('p50', latencies.p50, 'ms')
        .add('p99', latencies.p99, 'ms')
        .add('max', latencies.max, 'ms')
        .add('loop delay p99', loop.p99, 'ms')
        .add('loop delay max', loop.max, 'ms').figures,
  );
  return [...goals, losses, ...lines];
}

async function run(context: RowContext): Promise<Figure[]> {
  const [, names] = corporaFor(context.quick);
  await prepareWords(context.say);
  context.say(`a dictionary of ${corpusTitle(names)}`);
  return figuresOf(await onStage((stage) => watch(stage, (watched) => measure(watched, names, context))));
}

export const innocent: Row = {
  name: 'innocent',
  title: 'What a client of locks notices of a large dictionary',
  about:
    'A dictionary of a million names is imported through one server, loaded by a second server with the same Redis, and ' +
    `imported again while both have the old entries. Meanwhile ${STREAMS} HoldLock streams with a TTL of ` +
    `${STREAM_TTL_MS / 1000} s keep their leases, and one innocent client acquires and releases its own locks ` +
    `${INNOCENT_PER_SECOND} times a second, on a connection of its own to the first server. All processes share the ` +
    'machine; the importing clients have a lower priority. A stream is late if its lease ended by its own clock before the ' +
    'next renewal arrived.',
  run,
};
