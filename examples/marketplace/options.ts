import { parseArgs } from 'node:util';
import { span, UsageError } from '../worker-typescript/options';

export const WAYS = ['watch', 'coarse', 'fine'] as const;
export type Way = (typeof WAYS)[number];

/** What one round is played with; the same for each way. */
export interface Load {
  readonly buyers: number;
  readonly sellers: number;
  /** Each buyer and each seller is at work in all of them at once. */
  readonly processes: number;
  readonly seconds: number;
  readonly items: number;
  /** Buyers choose among so many of the cheapest items on offer. */
  readonly choice: number;
  /** The share of purchases in which the buyer stops for longer than the ttl, right before the write. */
  readonly pauses: number;
  readonly ttlMs: number;
  /** For how long an attempt goes on against others. */
  readonly waitMs: number;
  readonly seed: number;
}

export interface Options extends Load {
  readonly ways: readonly Way[];
  /** Holdfast servers over one and the same store. */
  readonly servers: readonly string[];
  /** Undefined: a private one, for the time of the run. */
  readonly redisUrl: string | undefined;
}

export const USAGE = `usage: npm run marketplace -- [options]
  --mode WAY                 watch, coarse, fine, or all of them in turn           (all)
  --buyers N                 who buy, each of them in every process at once        (32)
  --sellers N                who sell, the same                                    (4)
  --processes N              processes                                             (4)
  --seconds N                how long the market is open, each way                 (5)
  --items N                  what the sellers have, half of it on offer at first   (40000)
  --choice N                 buyers choose among so many of the cheapest           (400)
  --pauses SHARE             of the purchases, 0 to 1: stop for two ttls           (0.002)
  --ttl SPAN                 the locks' ttl                                        (500ms)
  --wait SPAN                for how long an attempt goes on                       (2s)
  --seed N                   of the prices, choices and pauses                     (1)
  --server HOST:PORT[,...]   Holdfast servers over one store                       (127.0.0.1:50051)
  --redis URL                the market's own Redis            (a private one, as long as it runs)
A SPAN is a number with its unit: 250ms, 5s, 1m.`;

const DEFAULTS = {
  mode: 'all',
  buyers: '32',
  sellers: '4',
  processes: '4',
  seconds: '5',
  items: '40000',
  choice: '400',
  pauses: '0.002',
  ttl: '500ms',
  wait: '2s',
  seed: '1',
  server: '127.0.0.1:50051',
} as const;

type Values = Record<keyof typeof DEFAULTS, string> & { redis?: string };

function parse(args: readonly string[]): Values {
  const given = Object.entries(DEFAULTS).map(([name, value]) => [name, { type: 'string', default: value }]);
  const options = { ...Object.fromEntries(given), redis: { type: 'string' } };
  try {
    return parseArgs({ args: [...args], options }).values as Values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function waysOf(mode: string): readonly Way[] {
  const found = WAYS.filter((way) => way === mode || mode === 'all');
  if (found.length === 0) throw new UsageError(`--mode ${mode}: ${WAYS.join(', ')} or all is wanted`);
  return found;
}

export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const number = (option: keyof typeof DEFAULTS, least: number, most: number, whole = true): number => {
    const value = Number(values[option]);
    const isRight = value >= least && value <= most && (!whole || Number.isInteger(value));
    if (isRight && values[option].trim() !== '') return value;
    throw new UsageError(
      `--${option} ${values[option]}: a ${whole ? 'whole ' : ''}number from ${least} to ${most} is wanted`,
    );
  };
  const servers = values.server.split(',').filter((server) => server !== '');
  if (servers.length === 0) throw new UsageError('--server names no server');
  return {
    ways: waysOf(values.mode),
    buyers: number('buyers', 1, 1000),
    sellers: number('sellers', 1, 1000),
    processes: number('processes', 1, 64),
    seconds: number('seconds', 0.1, 3600, false),
    items: number('items', 1, 1_000_000),
    choice: number('choice', 1, 1_000_000),
    pauses: number('pauses', 0, 1, false),
    ttlMs: span('ttl', values.ttl),
    waitMs: span('wait', values.wait),
    seed: number('seed', 0, 1_000_000_000),
    servers,
    redisUrl: values.redis,
  };
}
