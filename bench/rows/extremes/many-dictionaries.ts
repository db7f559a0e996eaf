import { seeded, type Random } from '../../../test/support/random';
import { residentBytes, threadCpu } from '../../support/cpu';
import { zipf } from '../../support/zipf';
import type { Corpus } from '../../words/corpus';
import { Cells } from '../cells';
import type { Figure } from '../row';
import { onAskedStage, question, withServer, type AskedServer } from './asked-server';
import type { BenchRedis } from '../../support/redis';
import type { Part, PartContext } from './part';

const DICTIONARIES = 10_000;
const QUICK_DICTIONARIES = 500;
const CORPUS: Corpus = { of: 'names', count: 1000 };
/** The part of all indexes that fits into the memory of the server. */
const FITTING = 0.1;
const CLIENTS = 64;
const QUESTIONS = 100_000;
const QUICK_QUESTIONS = 1000;
const MEBIBYTE = 2 ** 20;
/** The least setting of the server (MiB). */
const LEAST_BUDGET = 16;
const SEED = 6;

type Choice = (random: Random) => number;

function nameOf(index: number): string {
  return `many ${index}`;
}

/** The share of queries that load, if the memory has room for `room` dictionaries. */
function simulatedLoads(asked: readonly number[], room: number, admit: (index: number) => boolean): number {
  const held = new Set<number>();
  let loads = 0;
  for (const index of asked) {
    const isHeld = held.delete(index);
    if (!isHeld) loads += 1;
    if (isHeld || held.size < room || admit(index)) held.add(index);
    const [oldest] = held;
    if (held.size > room && oldest !== undefined) held.delete(oldest);
  }
  return loads / asked.length;
}

/** Remembers the latest names that were not admitted, as many as fit into the memory. */
function onSecondUse(room: number): (index: number) => boolean {
  const seen = new Set<number>();
  return (index) => {
    if (seen.delete(index)) return true;
    seen.add(index);
    const [oldest] = seen;
    if (seen.size > room && oldest !== undefined) seen.delete(oldest);
    return false;
  };
}

/** The scripts of one load. A query without a load runs no script. */
async function scriptsOfLoad({ client }: AskedServer, redis: BenchRedis, name: string): Promise<number> {
  const before = (await redis.commandCounts()).scripts;
  await client.ask('first', question(name));
  return (await redis.commandCounts()).scripts - before;
}

async function access(
  { server, client, bench }: AskedServer,
  redis: BenchRedis,
  asked: readonly number[],
  forMs: number,
  scripts: number,
) {
  const questions = asked.map((index) => ({ dictionary: nameOf(index), query: 'a', kinds: [] }));
  const half = questions.length / 2;
  // The first half fills the memory.
  await client.ask('askFor', { questions: questions.slice(0, half), clients: CLIENTS, forMs });
  await bench.loopDelay();
  const [before, cpu] = [(await redis.commandCounts()).scripts, threadCpu(server.pid)];
  const answered = await client.ask('askFor', { questions: questions.slice(half), clients: CLIENTS, forMs });
  const [after, now] = [(await redis.commandCounts()).scripts, threadCpu(server.pid)];
  const loop = await bench.loopDelay();
  const cpuOf = (part: keyof typeof cpu) => (now[part] - cpu[part]) / answered.ms;
  return { ...answered, loads: (after - before) / scripts / answered.count, loop, cpuOf };
}

async function run(context: PartContext): Promise<Figure[]> {
  const count = context.quick ? QUICK_DICTIONARIES : DICTIONARIES;
  const questions = context.quick ? QUICK_QUESTIONS : QUESTIONS;
  const dictionaries = Array.from({ length: count }, (_, index) => nameOf(index));
  return onAskedStage(context, async ({ redis, client }) => {
    await client.ask('importMany', { dictionaries, corpus: CORPUS });
    const bytes = (await client.ask('serverMemory', { dictionary: nameOf(count - 1) })) ?? 0;
    const budget = Math.max(LEAST_BUDGET, Math.ceil((count * FITTING * bytes) / MEBIBYTE));
    const room = Math.floor((budget * MEBIBYTE) / bytes);
    context.say(`${count} dictionaries of ${Math.round(bytes / 1000)} kB; ${room} fit into the memory`);
    const choices: Record<string, Choice> = {
      uniform: (random) => Math.floor(random() * count),
      'by Zipf’s law': zipf(count),
    };
    const figures: Figure[] = [];
    const table = `${count} dictionaries of 1,000 names; ${budget} MiB of memory; ${CLIENTS} clients`;
    for (const [title, choice] of Object.entries(choices)) {
      const random = seeded(SEED);
      const asked = Array.from({ length: questions }, () => choice(random));
      const env = { HOLDFAST_DICTIONARY_MEMORY: `${budget}MiB` };
      await withServer(redis.url, env, async (server) => {
        const scripts = await scriptsOfLoad(server, redis, nameOf(0));
        const found = await access(server, redis, asked, (context.seconds * 1000) / 2, scripts);
        const cells = new Cells(table, title)
          .add('queries a second', (found.count * 1000) / found.ms)
          .add('share with a load', found.loads)
          .add(
            'simulated',
            simulatedLoads(asked, room, () => true),
          )
          .add('simulated, kept on second use', simulatedLoads(asked, room, onSecondUse(room)))
          .add('p50', found.p50, 'ms')
          .add('p99', found.p99, 'ms')
          .add('main thread', found.cpuOf('main'))
          .add('builds', found.cpuOf('builds'))
          .add('loop delay p99', found.loop.p99, 'ms')
          .add('loop delay max', found.loop.max, 'ms')
          .add('memory of the server', residentBytes(server.server.pid) / 1e6, 'MB');
        figures.push(...cells.figures);
      });
      context.say(title);
    }
    return figures;
  });
}

export const manyDictionaries: Part = { name: 'many-dictionaries', run };
