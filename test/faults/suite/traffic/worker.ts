import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { between, oneOf, seeded, type Random } from '../../../support/random';
import type { Recorder } from '../../../support/history-recorder';
import { CallEnded, type Held } from '../../held';
import type { EitherWanted } from '../../../support/clients/lease-client';
import { Servers } from './servers';
import { pickSession } from './sessions';
import { Silence } from './stream-session';
import type { TrafficTask, Resource } from './traffic';

export type Request = EitherWanted & { readonly requestId: string };

/** The percentage of leases with a short ttl, which a stall of the machine may outlast. */
const SHORT_PERCENT = 20;
const SHORT_TTL_MS = [300, 900] as const;
const TTL_MS = [1000, 2500] as const;
const WAIT_MS = [200, 4000] as const;
/** Wait timeouts that are longer than a stall of the store (ms). */
const LONG_WAIT_MS = [4000, 12_000] as const;
const THINK_MS = [0, 15] as const;
const PAUSE_MS = [20, 150] as const;
/** The longest pause of a worker (ms), even if the server asks for a longer pause. */
const LONGEST_PAUSE_MS = 1200;
/** The percentage of refusals after which a worker ignores the requested pause, so that some calls arrive early. */
const IMPATIENT_PERCENT = 8;
/** The time for which a worker retries a request (ms). */
const RETRY_MS = 8000;

/** A client that runs sessions one after the other. Each kind of session uses a lease in another way. */
export class Worker {
  readonly random: Random;
  readonly servers: Servers;
  private readonly resources: readonly Resource[];
  private readonly longWaitPercent: number;

  constructor(name: string, index: number, task: TrafficTask, recorder: Recorder) {
    this.random = seeded(task.seed * 1000 + index);
    this.servers = new Servers(name, index, task.addresses, recorder);
    this.longWaitPercent = task.longWaitPercent;
    this.resources = task.resources.flatMap((resource) => Array<Resource>(resource.share).fill(resource));
  }

  async run(until: number): Promise<void> {
    while (performance.now() < until) {
      try {
        const resource = oneOf(this.random, this.resources);
        this.servers.use(resource.service);
        await pickSession(this)(this, this.request(resource, until));
      } catch (error) {
        // The checkers judge the answers of the service. Every other error is a defect of this program.
        if (!(error instanceof CallEnded) && !(error instanceof Silence)) throw error;
        if (isOutage(error)) this.servers.next();
        await sleep(this.pauseAfter(error));
      }
      await sleep(this.between(THINK_MS));
    }
    this.servers.close();
  }

  /** Acquires, and repeats the same request at another server after an outage. */
  async acquire(request: Request): Promise<Held> {
    return this.again(() => this.servers.current.acquire(request));
  }

  async again<T>(attempt: () => Promise<T>): Promise<T> {
    const until = performance.now() + RETRY_MS;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!isOutage(error) || performance.now() >= until) throw error;
        this.servers.next();
        await sleep(this.pauseAfter(error));
      }
    }
  }

  async release(held: Held): Promise<void> {
    await this.again(() => this.servers.current.release(held));
  }

  between([least, most]: readonly [number, number]): number {
    return between(this.random, least, most);
  }

  happens(percent: number): boolean {
    return this.random() * 100 < percent;
  }

  /** The pause before a retry. Most clients follow the retry time of the server. */
  private pauseAfter(error: unknown): number {
    const usual = this.between(PAUSE_MS);
    if (!isOutage(error) || !(error instanceof CallEnded) || this.happens(IMPATIENT_PERCENT)) return usual;
    const told = Math.min(error.ending.retryAfterMs ?? 0, LONGEST_PAUSE_MS);
    return Math.max(usual, this.between([told / 2, told]));
  }

  private request({ service, name, mostPermits, sharedPercent }: Resource, until: number): Request {
    const waitMs = this.between(this.happens(this.longWaitPercent) ? LONG_WAIT_MS : WAIT_MS);
    return {
      name,
      requestId: randomUUID(),
      ttlMs: this.between(this.happens(SHORT_PERCENT) ? SHORT_TTL_MS : TTL_MS),
      // At the end of the traffic, waits are short, so that the worker ends in time.
      waitMs: Math.min(waitMs, WAIT_MS[0] + Math.max(0, Math.ceil(until - performance.now()))),
      permits: service === 'lock' ? 1 : 1 + Math.floor(this.random() ** 2 * mostPermits),
      mode: service === 'lock' && this.happens(sharedPercent) ? 'shared' : 'exclusive',
    };
  }
}

/** True if the server is unavailable or the outcome is unknown. */
export function isOutage(error: unknown): boolean {
  if (error instanceof Silence) return true;
  if (!(error instanceof CallEnded)) return false;
  const { code } = error.ending;
  // A server that is forced to end answers CANCELLED. A client sees a crash during an answer as INTERNAL.
  return ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL'].includes(code);
}
