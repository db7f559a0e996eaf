import { parseArgs } from 'node:util';

export interface Options {
  /** Who is working: the `holder_id`, a label for people. */
  readonly worker: string;
  /** Servers over one and the same store; the next is tried when one is gone. */
  readonly servers: readonly string[];
  /** The lock's name. */
  readonly name: string;
  readonly ttlMs: number;
  /** How long a step of the work takes. */
  readonly stepMs: number;
  readonly ledger: string;
}

export const USAGE = `usage: npm run worker -- WORKER [options]
  WORKER                     a name for this worker: alice
  --server HOST:PORT[,...]   servers over one store   (127.0.0.1:50051)
  --name NAME                the lock                 (nightly-report)
  --ttl SPAN                 the lease's ttl          (5s)
  --step SPAN                how long a step takes    (250ms)
  --ledger FOLDER            the protected store      (.holdfast/ledger)
A SPAN is a number with its unit: 250ms, 5s, 1m.`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Milliseconds of "5s"; more than 0. */
export function span(option: string, text: string): number {
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
  if (worker === undefined || positionals.length > 1) throw new UsageError('exactly one WORKER is wanted');
  const servers = values.server.split(',').filter((server) => server !== '');
  if (servers.length === 0) throw new UsageError('--server names no server');
  return {
    worker,
    servers,
    name: values.name,
    ttlMs: span('ttl', values.ttl),
    stepMs: span('step', values.step),
    ledger: values.ledger,
  };
}
