import { residentBytes } from '../../support/cpu';
import { MemorySampler } from '../../support/memory-sampler';
import { corpusTitle, type Corpus } from '../../words/corpus';
import { Cells } from '../cells';
import type { Figure } from '../row';
import { corporaFor } from '../sizes';
import { onAskedStage, question } from './asked-server';
import type { Part, PartContext } from './part';

const SWAPS = 50;
const QUICK_SWAPS = 5;
const MOST_SWAPPED = 200_000;
const BUDGET = '1GiB';
const DICTIONARY = 'names';

async function run(context: PartContext): Promise<Figure[]> {
  const [, { count: most }] = corporaFor(context.quick);
  const corpus: Corpus = { of: 'names', count: Math.min(most, MOST_SWAPPED) };
  const swaps = context.quick ? QUICK_SWAPS : SWAPS;
  const env = { HOLDFAST_DICTIONARY_MEMORY: BUDGET };
  const swap = onAskedStage(
    context,
    async ({ redis, server, client }) => {
      const memory = new MemorySampler(server.pid);
      const figures: Figure[] = [];
      const table = `imports of ${corpusTitle(corpus)} over each other, budget ${BUDGET}`;
      for (let turn = 1; turn <= swaps; turn += 1) {
        const { ms } = await client.ask('import', { dictionary: DICTIONARY, corpus });
        await client.ask('first', question(DICTIONARY));
        if (turn !== 1 && turn % 5 !== 0) continue;
        const cells = new Cells(table, `after ${turn}`)
          .add('memory of the server', residentBytes(server.pid) / 1e6, 'MB')
          .add('its peak so far', memory.peak / 1e6, 'MB')
          .add('index', ((await client.ask('serverMemory', { dictionary: DICTIONARY })) ?? 0) / 1e6, 'MB')
          .add('memory of Redis', (await redis.usedMemory()) / 1e6, 'MB')
          .add('last import', ms / 1000, 's');
        figures.push(...cells.figures);
        context.say(`${turn} imports: ${Math.round(residentBytes(server.pid) / 1e6)} MB`);
      }
      memory.stop();
      return figures;
    },
    env,
  );
  return swap;
}

export const swaps: Part = { name: 'swaps', run };
