import { setTimeout as sleep } from 'node:timers/promises';
import { MATCH_KINDS, type MatchKind } from '../../../src/engine/autocomplete/suggestion';
import { between, seeded, type Random } from '../../../test/support/random';
import { threadCpu } from '../../support/cpu';
import { corpusTitle, sampleOf, type Corpus } from '../../words/corpus';
import { inside, misspelt, typed, type Texts } from '../../words/queries';
import { words } from '../../words/words';
import { Cells } from '../cells';
import type { Figure } from '../row';
import { corporaFor } from '../sizes';
import { onAskedStage, question, withServer, type AskedServer } from './asked-server';
import type { Part, PartContext } from './part';

const SAMPLE = 20_000;
const QUERIES = 2000;
const PHASES = 15;
const DICTIONARY = 'names';
const SEED = 8;
/** The steps that the table shows for each work. */
const STEPS_SHOWN = 3;

interface Queries {
  readonly kinds: readonly MatchKind[];
  readonly of: (random: Random, texts: Texts) => string[];
}

function many(make: () => string): string[] {
  return Array.from({ length: QUERIES }, make);
}

const QUERY_WORKS: Readonly<Record<string, Queries>> = {
  'first letters': { kinds: ['prefix'], of: (random, texts) => typed(random, texts, QUERIES, 8) },
  'all kinds': { kinds: [], of: (random, texts) => typed(random, texts, QUERIES, 12) },
  'one letter within': { kinds: ['contains'], of: (random, texts) => many(() => inside(random, texts, 1)) },
  'one typo': {
    kinds: [],
    of: (random, texts) => many(() => misspelt(random, texts, between(random, 4, 12), 1)),
  },
  'two typos, 8 to 12 letters': {
    kinds: ['typo'],
    of: (random, texts) => many(() => misspelt(random, texts, between(random, 8, 12), 2)),
  },
  'two typos, never found': {
    kinds: ['typo'],
    of: (random, texts) => many(() => `${misspelt(random, texts, 12, 2)}${'qx'.repeat(20)}`),
  },
};

type Work = (asked: AskedServer) => Promise<unknown>;

async function worksOf(corpus: Corpus, forMs: number): Promise<Record<string, Work>> {
  const random = seeded(SEED);
  const texts = sampleOf(await words(), corpus, SAMPLE).map(({ folded }) => folded);
  const works: Record<string, Work> = {
    nothing: () => sleep(forMs),
    'empty calls': async ({ client }) => {
      const end = performance.now() + forMs;
      while (performance.now() < end) await client.ask('empty', { count: 500, inFlight: 1 });
    },
  };
  for (const [title, { kinds, of }] of Object.entries(QUERY_WORKS)) {
    const numbers = kinds.map((kind) => MATCH_KINDS.indexOf(kind) + 1);
    const questions = of(random, texts).map((query) => ({ dictionary: DICTIONARY, query, kinds: numbers }));
    works[title] = ({ client }) => client.ask('askFor', { questions, clients: 1, forMs });
  }
  const put = (each: number, count: number): Work => {
    return ({ client }) => client.ask('put', { dictionary: DICTIONARY, corpus: { ...corpus, count }, each });
  };
  return {
    ...works,
    'puts of one entry': put(1, Math.min(4000, corpus.count)),
    'puts of 1,000 entries': put(1000, Math.min(100_000, corpus.count)),
    'an import over the old entries': ({ client }) =>
      client.ask('import', { dictionary: DICTIONARY, corpus }),
  };
}

/** Measures the event loop first, and then looks for the long steps of the same work. */
async function measure(asked: AskedServer, title: string, table: string, work: Work): Promise<Figure[]> {
  const { server, bench } = asked;
  await bench.loopDelay();
  const [before, startedAt] = [threadCpu(server.pid), performance.now()];
  await work(asked);
  const [now, ms, loop] = [threadCpu(server.pid), performance.now() - startedAt, await bench.loopDelay()];
  const cells = new Cells(table, title)
    .add('time', ms / 1000, 's')
    .add('main thread CPU', (now.main - before.main) / ms)
    .add('busy', loop.busy)
    .add('loop delay p50', loop.p50, 'ms')
    .add('p99', loop.p99, 'ms')
    .add('p99.9', loop.p999, 'ms')
    .add('max', loop.max, 'ms');
  return cells.figures;
}

async function longSteps(asked: AskedServer, title: string, work: Work): Promise<Figure[]> {
  await asked.bench.startSteps();
  await work(asked);
  const steps = await asked.bench.longSteps();
  return steps
    .slice(0, STEPS_SHOWN)
    .flatMap(
      ({ where, count, longest, longestCpu }) =>
        new Cells('turns of the event loop over 0.8 ms, by their function', `${title}: ${where}`)
          .add('turns', count)
          .add('longest, CPU', longestCpu, 'ms')
          .add('longest', longest, 'ms').figures,
    );
}

async function run(context: PartContext): Promise<Figure[]> {
  const [, corpus] = corporaFor(context.quick);
  const works = await worksOf(corpus, (context.seconds * 1000) / PHASES);
  const table = `event loop of a server with ${corpusTitle(corpus)}`;
  return onAskedStage(context, async (stage) => {
    const delays: Figure[] = [];
    const steps: Figure[] = [];
    await stage.client.ask('import', { dictionary: DICTIONARY, corpus });
    await stage.client.ask('first', question(DICTIONARY));
    const load: Work = ({ client }) => client.ask('first', question(DICTIONARY));
    await withServer(stage.redis.url, {}, async (other) => {
      delays.push(...(await measure(other, 'a load', table, load)));
    });
    await withServer(stage.redis.url, {}, async (other) => {
      steps.push(...(await longSteps(other, 'a load', load)));
    });
    for (const [title, work] of Object.entries(works)) {
      delays.push(...(await measure(stage, title, table, work)));
      steps.push(...(await longSteps(stage, title, work)));
      context.say(title);
    }
    return [...delays, ...steps];
  });
}

export const mainThread: Part = { name: 'main-thread', run };
