import { BenchClient } from '../load/bench-client';
import type { Answered, SteadyTasks } from '../load/steady';
import type { SuggestTasks } from '../load/suggest';
import { cpuMs, residentBytes, threadCpu } from '../support/cpu';
import { tableLine, type Figure } from '../support/figures';
import { LoadProcess } from '../support/load-process';
import { MemorySampler } from '../support/memory-sampler';
import { onStage, type Stage } from '../support/stage';
import { listed } from '../support/watched';
import { corpusTitle, type Corpus } from '../words/corpus';
import { prepareWords } from '../words/words';
import type { Row, RowContext } from './row';
import { corporaFor } from './sizes';

const BUDGET = '1GiB';
/** The largest dictionary that is written to. */
const MOST_WRITTEN = 200_000;
const DICTIONARY = 'names';
const QUESTION = { question: { dictionary: DICTIONARY, query: 'a', kinds: [] } };
const NO_WRITES = { puts: 0, selections: 0, queries: 0 };
const WRITES = { puts: 1000, selections: 1000, queries: 0 };
const QUERIES = { puts: 0, selections: 0, queries: 200 };
/** The time of steady writes is divided into windows, whose figures show whether something grows. */
const WINDOWS = 6;

/** A server with clients that import, write and ask. */
interface Written extends Stage {
  readonly corpus: Corpus;
  readonly bench: BenchClient;
  readonly importer: LoadProcess<SuggestTasks>;
  readonly writer: LoadProcess<SteadyTasks>;
  readonly asker: LoadProcess<SteadyTasks>;
}

async function memoryColumns({ redis, server, importer }: Written) {
  const index = (await importer.ask('serverMemory', { dictionary: DICTIONARY })) ?? 0;
  return {
    index: [index / 1e6, 'MB'],
    'memory of the server': [residentBytes(server.pid) / 1e6, 'MB'],
    'memory of Redis': [(await redis.usedMemory()) / 1e6, 'MB'],
  } as const;
}

function callColumns(what: string, { count, failures, p50, p99 }: Answered, seconds: number) {
  const times = count > 0;
  return {
    [`${what} a second`]: count / seconds,
    [`${what} failed`]: listed(failures),
    [`${what} p50`]: times ? ([p50, 'ms'] as const) : undefined,
    [`${what} p99`]: times ? ([p99, 'ms'] as const) : undefined,
  };
}

/** Writes at a fixed rate beside queries, for a window of time. */
async function writeWindow(written: Written, line: string, rates: typeof WRITES, forMs: number) {
  const { server, redis, bench, writer, asker, corpus } = written;
  const [before, redisBefore] = [threadCpu(server.pid), cpuMs(redis.pid)];
  await bench.loopDelay();
  const startedAt = performance.now();
  const [writes, asked] = await Promise.all([
    writer.ask('run', { dictionary: DICTIONARY, rates, forMs }),
    asker.ask('run', { dictionary: DICTIONARY, rates: QUERIES, forMs }),
  ]);
  const ms = performance.now() - startedAt;
  const now = threadCpu(server.pid);
  const cores = (part: keyof typeof now) => (now[part] - before[part]) / ms;
  const loop = await bench.loopDelay();
  return tableLine(`1,000 puts and 1,000 selections a second, ${corpusTitle(corpus)}`, line, {
    ...callColumns('queries', asked.query, ms / 1000),
    ...callColumns('puts', writes.put, ms / 1000),
    ...callColumns('selections', writes.selection, ms / 1000),
    'main thread': cores('main'),
    builds: cores('builds'),
    'other threads': cores('others'),
    Redis: (cpuMs(redis.pid) - redisBefore) / ms,
    'loop delay p50': [loop.p50, 'ms'],
    'loop delay p99': [loop.p99, 'ms'],
    'loop delay max': [loop.max, 'ms'],
    'most layers': await bench.mostLayers(),
    ...(await memoryColumns(written)),
  });
}

async function steadyWrites(written: Written, { quick, say }: RowContext): Promise<Figure[]> {
  const forMs = (quick ? 12_000 : 300_000) / WINDOWS;
  await written.importer.ask('import', { dictionary: DICTIONARY, corpus: written.corpus });
  await written.importer.ask('first', QUESTION);
  const figures = await writeWindow(written, 'no writes', NO_WRITES, forMs);
  for (let window = 1; window <= WINDOWS; window += 1) {
    const line = `until ${Math.round((window * forMs) / 1000)} s`;
    figures.push(...(await writeWindow(written, line, WRITES, forMs)));
    say(line);
  }
  return figures;
}

/** Imports over each other. */
async function swaps(written: Written, { quick, say }: RowContext): Promise<Figure[]> {
  const { server, importer, corpus } = written;
  const memory = new MemorySampler(server.pid);
  const figures: Figure[] = [];
  const table = `imports of ${corpusTitle(corpus)} over each other, budget ${BUDGET}`;
  for (let turn = 1; turn <= (quick ? 5 : 50); turn += 1) {
    const startedAt = performance.now();
    await importer.ask('import', { dictionary: DICTIONARY, corpus });
    const ms = performance.now() - startedAt;
    await importer.ask('first', QUESTION);
    if (turn !== 1 && turn % 5 !== 0) continue;
    figures.push(
      ...tableLine(table, `after ${turn}`, {
        ...(await memoryColumns(written)),
        'its peak so far': [memory.peak / 1e6, 'MB'],
        'last import': [ms / 1000, 's'],
      }),
    );
    say(`${turn} imports`);
  }
  memory.stop();
  return figures;
}

/** Measures on a stage with clients. */
async function on(stage: Stage, corpus: Corpus, measure: (written: Written) => Promise<Figure[]>) {
  const { listen: address } = stage.server;
  const bench = new BenchClient(address);
  const importer = new LoadProcess<SuggestTasks>('suggest');
  const writer = new LoadProcess<SteadyTasks>('steady');
  const asker = new LoadProcess<SteadyTasks>('steady');
  const written: Written = { ...stage, corpus, bench, importer, writer, asker };
  try {
    await importer.ask('connect', { address });
    for (const one of [writer, asker]) await one.ask('connect', { address, corpus });
    return await measure(written);
  } finally {
    bench.close();
    for (const one of [importer, writer, asker]) one.end();
  }
}

async function run(context: RowContext): Promise<Figure[]> {
  const [, { count }] = corporaFor(context);
  const corpus: Corpus = { of: 'names', count: Math.min(count, MOST_WRITTEN) };
  const env = { HOLDFAST_DICTIONARY_MEMORY: BUDGET };
  await prepareWords(context.say);
  const figures: Figure[] = [];
  for (const part of [steadyWrites, swaps]) {
    const measure = (written: Written) => part(written, context);
    figures.push(...(await onStage((stage) => on(stage, corpus, measure), { env })));
  }
  return figures;
}

export const extremes: Row = {
  name: 'dictionary-extremes',
  title: 'Dictionaries that are written all the time',
  about:
    '1,000 puts and 1,000 selections a second for five minutes, beside 200 queries a second; and 50 imports over each ' +
    'other, with a budget of 1 GiB for dictionaries. The lines of a table show whether something grows. CPU is a part of one ' +
    'core. An idle event loop has a delay of 1 ms and a little, because the delay is sampled each millisecond.',
  onRequest: true,
  run,
};
