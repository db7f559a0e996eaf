import { parseArgs } from 'node:util';
import { readDuration, UsageError } from './duration';

export const STRATEGIES = ['watch', 'coarse', 'fine'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** The parameters of a round. They are the same for each strategy. */
export interface Load {
  readonly buyers: number;
  readonly sellers: number;
  /** Each buyer and each seller trades in all of these processes at the same time. */
  readonly processes: number;
  readonly seconds: number;
  readonly items: number;
  /** Buyers choose among this number of the cheapest items on offer. */
  readonly choice: number;
  /** The share of purchases in which the buyer pauses for longer than the ttl right before the write. */
  readonly pauses: number;
  readonly ttlMs: number;
  /** The longest time of one attempt, with its waits and retries. */
  readonly waitMs: number;
  readonly seed: number;
}

export interface Options extends Load {
  readonly strategies: readonly Strategy[];
  /** Holdfast servers that share one store. */
  readonly servers: readonly string[];
  /** The Redis for the market and the server. Undefined: a private Redis that ends with the run. */
  readonly redisUrl: string | undefined;
}

export const USAGE = `usage: npm run marketplace -- [options]
  --mode STRATEGY            watch, coarse, fine, or all three in turn             (all)
  --buyers N                 buyers; each of them trades in every process          (32)
  --sellers N                sellers; each of them trades in every process         (4)
  --processes N              processes                                             (4)
  --seconds N                how long the market is open for each strategy         (5)
  --items N                  items of the sellers; half of them are on offer       (40000)
  --choice N                 buyers choose among the N cheapest items              (400)
  --pauses SHARE             share of purchases (0 to 1) that pause for two ttls   (0.002)
  --ttl DURATION             ttl of the locks                                      (500ms)
  --wait DURATION            longest time of one attempt                           (2s)
  --seed N                   seed of the prices, choices and pauses                (1)
  --server HOST:PORT[,...]   Holdfast servers of one store                         (127.0.0.1:50051)
  --redis URL                the Redis of the market           (a private one that ends with the run)
A DURATION is a number with its unit: 250ms, 5s, 1m.`;

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

function strategiesOf(mode: string): readonly Strategy[] {
  const found = STRATEGIES.filter((strategy) => strategy === mode || mode === 'all');
  if (found.length === 0) throw new UsageError(`--mode ${mode}: expected ${STRATEGIES.join(', ')} or all`);
  return found;
}

export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const number = (option: keyof typeof DEFAULTS, least: number, most: number, whole = true): number => {
    const value = Number(values[option]);
    const isRight = value >= least && value <= most && (!whole || Number.isInteger(value));
    if (isRight && values[option].trim() !== '') return value;
    throw new UsageError(
      `--${option} ${values[option]}: expected a ${whole ? 'whole ' : ''}number from ${least} to ${most}`,
    );
  };
  const servers = values.server.split(',').filter((server) => server !== '');
  if (servers.length === 0) throw new UsageError('--server names no server');
  return {
    strategies: strategiesOf(values.mode),
    buyers: number('buyers', 1, 1000),
    sellers: number('sellers', 1, 1000),
    processes: number('processes', 1, 64),
    seconds: number('seconds', 0.1, 3600, false),
    items: number('items', 1, 1_000_000),
    choice: number('choice', 1, 1_000_000),
    pauses: number('pauses', 0, 1, false),
    ttlMs: readDuration('ttl', values.ttl),
    waitMs: readDuration('wait', values.wait),
    seed: number('seed', 0, 1_000_000_000),
    servers,
    redisUrl: values.redis,
  };
}
