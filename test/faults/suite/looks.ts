import { setTimeout as sleep } from 'node:timers/promises';
import { permitsKeys } from '../../../src/redis/keys';
import type { ExpiryObserved, Granted, History, Micros } from '../../support/history';
import { monotonicMicros } from '../../support/history-recorder';
import type { FleetStore } from '../fleet';
import { PREFIX } from '../observer';
import type { Wanted } from './traffic/traffic';

/** All that the store has as held of one name, and its time, as one script read them. */
interface Look {
  readonly name: string;
  readonly before: Micros;
  readonly at: Micros;
  readonly redisTimeUs: Micros;
  /** By request. */
  readonly ends: ReadonlyMap<string, Micros>;
}

const EVERY_MS = 250;
/** Of the names that few want, one of so many is looked at each time: to look at all would be much of Redis's work. */
const TURNS = 6;
const READ_ENDS = `local time = redis.call('TIME')
return { time[1] * 1000000 + time[2], redis.call('ZRANGE', KEYS[1], '0', '-1', 'WITHSCORES') }`;

/**
 * Looks into the store over and over, for the checkers to compare it with what clients believe. Which lease an entry
 * is only its client knows, so that is put together when all is over.
 */
export class Looks {
  private readonly looks: Look[] = [];
  private stopped = false;
  private running: Promise<void> | undefined;

  constructor(
    private readonly store: Pick<FleetStore, 'command'>,
    private readonly wanted: readonly Wanted[],
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  /** What was seen of the leases that the history knows. */
  events(history: History): ExpiryObserved[] {
    const grants = new Map<string, Granted[]>();
    for (const event of history) {
      if (event.type !== 'granted') continue;
      const known = grants.get(event.name) ?? [];
      if (!known.some(({ lease }) => lease === event.lease)) known.push(event);
      grants.set(event.name, known);
    }
    let seq = 0;
    return this.looks.flatMap(({ name, ends, ...read }) =>
      leasesAround(grants.get(name) ?? [], read.before).flatMap(({ lease, requestId }) => {
        seq += 1;
        const expiryUs = ends.get(requestId) ?? null;
        return [{ type: 'expiry_observed', source: 'store', seq, name, lease, ...read, expiryUs } as const];
      }),
    );
  }

  private async run(): Promise<void> {
    for (let turn = 0; !this.stopped; turn += 1) {
      for (const [index, wanted] of this.wanted.entries()) {
        if (wanted.share > 1 || (index + turn) % TURNS === 0) await this.look(wanted);
      }
      await sleep(EVERY_MS);
    }
  }

  /** What cannot be read right now, for the fault that there is, is left out. */
  private async look({ service, name }: Wanted): Promise<void> {
    const [, ends = ''] = permitsKeys(PREFIX, { service, name });
    const before = monotonicMicros();
    const reply = await this.store.command('EVAL', READ_ENDS, 1, ends).catch(() => undefined);
    const at = monotonicMicros();
    if (!Array.isArray(reply)) return;
    const [time, pairs] = reply as [string, string[]];
    const found = new Map<string, Micros>();
    for (let i = 0; i < pairs.length; i += 2) found.set(pairs[i] ?? '', Number(pairs[i + 1]));
    this.looks.push({ name, before, at, redisTimeUs: Number(time), ends: found });
  }
}

/** An older lease is certainly over, or its stream's renewals show it. */
const RECENT: Micros = 12_000_000;

function leasesAround(grants: readonly Granted[], at: Micros): readonly Granted[] {
  return grants.filter((grant) => grant.at < at && grant.at > at - RECENT);
}
