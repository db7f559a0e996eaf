import { setTimeout as sleep } from 'node:timers/promises';
import type { SuggestTasks } from '../load/suggest';
import type { LoopDelay } from '../support/bench-service';
import { figure, tableLine, type Figure } from '../support/figures';
import { LoadProcess } from '../support/load-process';
import { onStage, startServer } from '../support/stage';
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
import { corpusTitle, type Corpus } from '../words/corpus';
import { prepareWords } from '../words/words';
import type { Row, RowContext } from './row';
import { corporaFor } from './sizes';

const QUIET_MS = 6000;
/** The shortest phase, so that the innocent client makes enough calls. */
const LEAST_MS = 2000;
const DICTIONARY = 'names';

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

async function measure(watched: Watched, corpus: Corpus, { say }: RowContext): Promise<Figure[]> {
  const { server, redis, bench, others } = watched;
  const otherServer = await startServer(redis.url);
  const first: Suggest = new LoadProcess('suggest');
  const second: Suggest = new LoadProcess('suggest');
  try {
    await first.ask('connect', { address: server.listen });
    await second.ask('connect', { address: otherServer.listen });
    const phases: [what: string, phase: Phase, loop: LoopDelay][] = [];
    for (const [what, work] of Object.entries(worksOf(corpus, first, second))) {
      await bench.loopDelay();
      const phase = await phaseOf(() => Promise.all([work(), sleep(LEAST_MS)]));
      phases.push([what, phase, await bench.loopDelay()]);
      say(`${what}: ${((phase.to - phase.from) / 1000).toFixed(1)} s`);
    }
    // A stream that could not be renewed is told of its loss within this time.
    await sleep(STREAM_TTL_MS);
    await others.ask('stop', undefined);
    const [goals, lines]: [Figure[], Figure[]] = [[], []];
    let p99Before: number | undefined;
    for (const [what, phase, loop] of phases) {
      const { count, failures, p50, p99, max } = await others.ask('latencies', phase);
      if (p99Before !== undefined) {
        const title = `${what}: the innocent client's p99 by its p99 before`;
        goals.push(figure(title, '×', p99 / p99Before, { most: 2 }));
      }
      p99Before ??= p99;
      lines.push(
        ...tableLine('the innocent client', what, {
          time: [(phase.to - phase.from) / 1000, 's'],
          calls: count,
          failed: totalOf(failures),
          p50: [p50, 'ms'],
          p99: [p99, 'ms'],
          max: [max, 'ms'],
          'loop delay p99': [loop.p99, 'ms'],
          'loop delay max': [loop.max, 'ms'],
        }),
      );
    }
    const losses = disturbed(await others.ask('events', undefined));
    return [...goals, figure('streams told LOST, or late, or ended', '', losses, { most: 0 }), ...lines];
  } finally {
    first.end();
    second.end();
    await otherServer.close();
  }
}

async function run(context: RowContext): Promise<Figure[]> {
  const [, names] = corporaFor(context);
  await prepareWords(context.say);
  context.say(`a dictionary of ${corpusTitle(names)}`);
  return onStage((stage) => watch(stage, (watched) => measure(watched, names, context)));
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
