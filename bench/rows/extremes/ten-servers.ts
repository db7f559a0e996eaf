import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs, residentBytes } from '../../support/cpu';
import { phaseOf, watch, type Watched } from '../../support/watched';
import { corpusTitle } from '../../words/corpus';
import { Cells } from '../cells';
import { disturbed } from '../counts';
import type { Figure } from '../row';
import { corporaFor } from '../sizes';
import { onAskedStage, question, withServer, type AskedServer } from './asked-server';
import type { Part, PartContext } from './part';

const SERVERS = 10;
const QUIET_MS = 5000;
const DICTIONARY = 'names';

interface Variant {
  readonly servers: number;
  /** The time between the first and the last question (ms). */
  readonly spreadMs: number;
}

const VARIANTS: readonly Variant[] = [
  { servers: 1, spreadMs: 0 },
  { servers: SERVERS, spreadMs: 0 },
  { servers: SERVERS, spreadMs: 2000 },
];

/** Starts some servers, one inside the other. */
function withServers<T>(
  redisUrl: string,
  count: number,
  work: (servers: readonly AskedServer[]) => Promise<T>,
  started: readonly AskedServer[] = [],
): Promise<T> {
  if (started.length === count) return work(started);
  return withServer(redisUrl, {}, (asked) => withServers(redisUrl, count, work, [...started, asked]));
}

async function load(
  { redis, others }: Watched,
  { servers: count, spreadMs }: Variant,
  title: string,
): Promise<Figure[]> {
  return withServers(redis.url, count, async (servers) => {
    await redis.resetStatistics();
    const redisBefore = cpuMs(redis.pid);
    const before = servers.map(({ server }) => cpuMs(server.pid));
    let answers: number[] = [];
    const phase = await phaseOf(async () => {
      const step = spreadMs / Math.max(1, count - 1);
      const load = async ({ client }: AskedServer, index: number) => {
        await sleep(index * step);
        return client.ask('first', question(DICTIONARY));
      };
      answers = await Promise.all(servers.map(load));
    });
    const redisMs = cpuMs(redis.pid) - redisBefore;
    const { script, command } = await redis.longest();
    const innocent = await others.ask('latencies', phase);
    const serverMs = servers.map(({ server }, index) => cpuMs(server.pid) - (before[index] ?? 0));
    const line = `${count} at once${spreadMs === 0 ? '' : `, within ${spreadMs / 1000} s`}`;
    return new Cells(`servers load ${title}`, line)
      .add('first answers', Math.min(...answers) / 1000, 's')
      .add('all answered', (phase.to - phase.from) / 1000, 's')
      .add(
        'CPU of a server',
        serverMs.map((ms) => ms / 1000),
        's',
      )
      .add('Redis CPU of a load', redisMs / count / 1000, 's')
      .add('longest script', script / 1000, 'ms')
      .add('longest command', command / 1000, 'ms')
      .add(
        'memory of a server',
        servers.map(({ server }) => residentBytes(server.pid) / 1e6),
        'MB',
      )
      .add('innocent p50', innocent.p50, 'ms')
      .add('innocent p99', innocent.p99, 'ms')
      .add('innocent max', innocent.max, 'ms').figures;
  });
}

async function run(context: PartContext): Promise<Figure[]> {
  const [, corpus] = corporaFor(context.quick);
  const title = corpusTitle(corpus);
  return onAskedStage(context, async ({ client, ...stage }) => {
    await client.ask('import', { dictionary: DICTIONARY, corpus });
    return watch(stage, async (watched) => {
      const { others } = watched;
      const before = await others.ask('latencies', await phaseOf(() => sleep(QUIET_MS)));
      const figures = new Cells(`servers load ${title}`, 'none')
        .add('innocent p50', before.p50, 'ms')
        .add('innocent p99', before.p99, 'ms')
        .add('innocent max', before.max, 'ms').figures;
      for (const variant of VARIANTS) {
        figures.push(...(await load(watched, variant, title)));
        context.say(`${variant.servers} servers have loaded ${title}`);
      }
      const count = disturbed(await others.ask('events', undefined));
      return [...figures, ...new Cells('held streams', 'all').add('lost, ended or late', count).figures];
    });
  });
}

export const tenServers: Part = { name: 'ten-servers', run };
