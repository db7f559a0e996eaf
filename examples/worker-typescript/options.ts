import { parseArgs } from 'node:util';

export interface Options {
  /** The name of the worker. The worker sends this name as its `holder_id`, a label for people. */
  readonly worker: string;
  /** Servers that share one store. The worker tries the next server if a server does not answer. */
  readonly servers: readonly string[];
  /** The lock's name. */
  readonly name: string;
  readonly ttlMs: number;
  /** The duration of one step of the work. */
  readonly stepMs: number;
  readonly ledger: string;
}

export const USAGE = `usage: npm run worker -- WORKER [options]
  WORKER                     a name for this worker: alice
  --server HOST:PORT[,...]   servers of one store     (127.0.0.1:50051)
  --name NAME                name of the lock         (nightly-report)
  --ttl DURATION             ttl of the lease         (5s)
  --step DURATION            duration of one step     (250ms)
  --ledger FOLDER            the protected store      (.holdfast/ledger)
A DURATION is a number with its unit: 250ms, 5s, 1m.`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Converts a duration such as "5s" to milliseconds. Throws a UsageError for 0 and for any other text. */
export function readDuration(option: string, text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS[unit ?? ''] ?? NaN);
  if (!(ms > 0)) throw new UsageError(`--${option} ${text}: expected a duration such as 5s or 250ms`);
  return ms;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        server: { type: 'string', default: '127.0.0.1:50051' },
        name: { type: 'string', default: 'nightly-report' },
        ttl: { type: 'string', default: '5s' },
        step: { type: 'string', default: '250ms' },
        ledger: { type: 'string', default: '.holdfast/ledger' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const [worker] = positionals;
  if (worker === undefined || positionals.length > 1) throw new UsageError('name exactly one WORKER');
  const servers = values.server.split(',').filter((server) => server !== '');
  if (servers.length === 0) throw new UsageError('--server names no server');
  return {
    worker,
    servers,
    name: values.name,
    ttlMs: readDuration('ttl', values.ttl),
    stepMs: readDuration('step', values.step),
    ledger: values.ledger,
  };
}
