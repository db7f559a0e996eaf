import type { Answered, SteadyTasks } from '../../load/steady';
import { cpuMs, residentBytes, threadCpu } from '../../support/cpu';
import { LoadProcess } from '../../support/load-process';
import { monotonicMs } from '../../support/monotonic';
import { corpusTitle, type Corpus } from '../../words/corpus';
import { Cells } from '../cells';
import { listed, sum } from '../counts';
import type { Figure } from '../row';
import { corporaFor } from '../sizes';
import { onAskedStage, question } from './asked-server';
import type { Part, PartContext } from './part';

const WRITES = { puts: 1000, selections: 1000, queries: 0 };
const QUERIES = { puts: 0, selections: 0, queries: 200 };
/** The largest dictionary that is written to. */
const MOST_WRITTEN = 200_000;
/** The time is divided into windows, whose figures show whether something grows. */
const WINDOWS = 6;
const DICTIONARY = 'names';

function addTimes(
  cells: Cells,
  what: string,
  { count, failures, p50, p99 }: Answered,
  seconds: number,
): Cells {
  return cells
    .add(`${what} a second`, count / seconds)
    .add(`${what} failed`, sum(failures), '', listed(failures))
    .add(`${what} p50`, p50, 'ms')
    .add(`${what} p99`, p99, 'ms');
}

async function run(context: PartContext): Promise<Figure[]> {
  const [, { count: most }] = corporaFor(context.quick);
  const corpus: Corpus = { of: 'names', count: Math.min(most, MOST_WRITTEN) };
  return onAskedStage(context, async ({ redis, server, client, bench }) => {
    const writer = new LoadProcess<SteadyTasks>('steady');
    const asker = new LoadProcess<SteadyTasks>('steady');
    try {
      await client.ask('import', { dictionary: DICTIONARY, corpus });
      await client.ask('first', question(DICTIONARY));
      for (const one of [writer, asker]) await one.ask('connect', { address: server.listen, corpus });
      const forMs = (context.seconds * 1000) / WINDOWS;
      const windows: [title: string, writes: typeof WRITES][] = [
        ['no writes', { ...WRITES, puts: 0, selections: 0 }],
        ...Array.from({ length: WINDOWS }, (_, index): [string, typeof WRITES] => {
          return [`until ${Math.round(((index + 1) * forMs) / 1000)} s`, WRITES];
        }),
      ];
      const figures: Figure[] = [];
      for (const [title, rates] of windows) {
        const [cpu, redisCpu] = [threadCpu(server.pid), cpuMs(redis.pid)];
        await bench.loopDelay();
        const began = monotonicMs();
        const [written, asked] = await Promise.all([
          writer.ask('run', { dictionary: DICTIONARY, rates, forMs }),
          asker.ask('run', { dictionary: DICTIONARY, rates: QUERIES, forMs }),
        ]);
        const ms = monotonicMs() - began;
        const [now, loop] = [threadCpu(server.pid), await bench.loopDelay()];
        const cells = new Cells(`1,000 puts and 1,000 selections a second, ${corpusTitle(corpus)}`, title);
        addTimes(cells, 'queries', asked.query, ms / 1000);
        addTimes(cells, 'puts', written.put, ms / 1000);
        addTimes(cells, 'selections', written.selection, ms / 1000);
        cells
          .add('main thread', (now.main - cpu.main) / ms)
          .add('builds', (now.builds - cpu.builds) / ms)
          .add('other threads', (now.others - cpu.others) / ms)
          .add('Redis', (cpuMs(redis.pid) - redisCpu) / ms)
          .add('loop delay p50', loop.p50, 'ms')
          .add('loop delay p99', loop.p99, 'ms')
          .add('loop delay max', loop.max, 'ms')
          .add('most layers', await bench.mostLayers())
          .add('index', ((await client.ask('serverMemory', { dictionary: DICTIONARY })) ?? 0) / 1e6, 'MB')
          .add('memory of the server', residentBytes(server.pid) / 1e6, 'MB')
          .add('memory of Redis', (await redis.usedMemory()) / 1e6, 'MB');
        figures.push(...cells.figures);
        context.say(`${title}: main thread ${((now.main - cpu.main) / ms).toFixed(2)} of a core`);
      }
      return figures;
    } finally {
      writer.end();
      asker.end();
    }
  });
}

export const steadyWrites: Part = { name: 'steady-writes', run };
