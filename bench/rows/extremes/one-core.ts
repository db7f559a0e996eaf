import { setTimeout as sleep } from 'node:timers/promises';
import { startingOnOneCore } from '../../support/pinned';
import { closeStage, openStage } from '../../support/stage';
import { phaseOf, STREAM_TTL_MS, watch, type Watched } from '../../support/watched';
import { corpusTitle, type Corpus } from '../../words/corpus';
import { prepareWords } from '../../words/words';
import { Cells } from '../cells';
import { disturbed } from '../counts';
import type { Figure } from '../row';
import { corporaFor } from '../sizes';
import { asking, question, withServer, type AskedServer } from './asked-server';
import type { Part, PartContext } from './part';

const QUIET_MS = 10_000;
const DICTIONARY = 'names';

async function measure(
  { others, bench }: Watched,
  { client }: AskedServer,
  corpus: Corpus,
  { say }: PartContext,
): Promise<Figure[]> {
  const works: Record<string, () => Promise<unknown>> = {
    'no dictionary': () => sleep(QUIET_MS),
    'a load': () => client.ask('first', question(DICTIONARY)),
    'an import over the old entries': () => client.ask('import', { dictionary: DICTIONARY, corpus }),
  };
  const figures: Figure[] = [];
  for (const [what, work] of Object.entries(works)) {
    await bench.loopDelay();
    const phase = await phaseOf(work);
    const loop = await bench.loopDelay();
    const innocent = await others.ask('latencies', phase);
    const leastLeft = await others.ask('leastLeft', phase);
    const cells = new Cells(`server and Redis on one core, ${corpusTitle(corpus)}`, what)
      .add('time', (phase.to - phase.from) / 1000, 's')
      .add('innocent p50', innocent.p50, 'ms')
      .add('innocent p99', innocent.p99, 'ms')
      .add('innocent max', innocent.max, 'ms')
      .add('loop delay p99', loop.p99, 'ms')
      .add('loop delay max', loop.max, 'ms');
    if (leastLeft !== undefined)
      cells.add(`least left of ${STREAM_TTL_MS / 1000} s at a renewal`, leastLeft, 'ms');
    figures.push(...cells.figures);
    say(what);
  }
  // A stream that could not be renewed is told of its loss within this time.
  await sleep(STREAM_TTL_MS);
  const count = disturbed(await others.ask('events', undefined));
  return [...figures, ...new Cells('held streams', 'all').add('lost, ended or late', count).figures];
}

async function run(context: PartContext): Promise<Figure[]> {
  const [, corpus] = corporaFor(context.quick);
  await prepareWords(context.say);
  const stage = await startingOnOneCore(() => openStage());
  try {
    await withServer(stage.redis.url, {}, ({ client }) =>
      client.ask('import', { dictionary: DICTIONARY, corpus }),
    );
    return await asking(stage.server, (asked) =>
      watch(stage, (watched) => measure(watched, asked, corpus, context)),
    );
  } finally {
    await closeStage(stage);
  }
}

export const oneCore: Part = { name: 'one-core', run };
