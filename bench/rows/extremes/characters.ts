import { residentBytes, threadCpu } from '../../support/cpu';
import { MemorySampler } from '../../support/memory-sampler';
import { corpusTitle, itemsOf, type Corpus } from '../../words/corpus';
import { words } from '../../words/words';
import { Cells } from '../cells';
import type { Figure } from '../row';
import { onAskedStage, question, withServer } from './asked-server';
import type { Part, PartContext } from './part';

/** About 20 MB of folded forms each. */
const CORPORA: readonly Corpus[] = [
  { of: 'names', count: 1_000_000 },
  { of: 'sentences', count: 100_000 },
  { of: 'repeats', count: 50_000 },
  { of: 'aliases', count: 60_000 },
  { of: 'expansions', count: 20_000 },
];
const QUICK_PART = 0.02;

async function formBytes(corpus: Corpus): Promise<number> {
  let bytes = 0;
  for (const { folded, aliases = [] } of itemsOf(await words(), corpus)) {
    for (const form of [folded, ...aliases]) bytes += Buffer.byteLength(form);
  }
  return bytes;
}

async function run(context: PartContext): Promise<Figure[]> {
  return onAskedStage(context, async ({ redis, client }) => {
    const figures: Figure[] = [];
    for (const whole of CORPORA) {
      const corpus = { ...whole, count: whole.count * (context.quick ? QUICK_PART : 1) };
      const dictionary = corpusTitle(corpus);
      const imported = await client.ask('import', { dictionary, corpus });
      await withServer(redis.url, {}, async ({ server, client: asker, bench }) => {
        const [before, cpu] = [residentBytes(server.pid), threadCpu(server.pid)];
        const memory = new MemorySampler(server.pid);
        await bench.loopDelay();
        const ms = await asker.ask('first', question(dictionary));
        const [now, loop] = [threadCpu(server.pid), await bench.loopDelay()];
        memory.stop();
        const bytes = (await asker.ask('serverMemory', { dictionary })) ?? 0;
        const forms = await formBytes(corpus);
        const cells = new Cells('imports and loads by characters', dictionary)
          .add('import, an entry', (imported.ms * 1000) / corpus.count, 'µs')
          .add('first answer', ms / 1000, 's')
          .add('build CPU, an entry', ((now.builds - cpu.builds) * 1000) / corpus.count, 'µs')
          .add('build CPU, a byte of forms', ((now.builds - cpu.builds) * 1e6) / forms, 'ns')
          .add('main thread CPU, an entry', ((now.main - cpu.main) * 1000) / corpus.count, 'µs')
          .add('forms, an entry', forms / corpus.count, 'B')
          .add('index, an entry', bytes / corpus.count, 'B')
          .add('index, a byte of forms', bytes / forms, 'B')
          .add('peak memory, an entry', (memory.peak - before) / corpus.count, 'B')
          .add('loop delay p99', loop.p99, 'ms')
          .add('loop delay max', loop.max, 'ms');
        figures.push(...cells.figures);
      });
      await client.ask('drop', { dictionary });
      context.say(dictionary);
    }
    return figures;
  });
}

export const characters: Part = { name: 'characters', run };
