/**
 * The program that lease-holder-process.ts starts: one session client of the product that holds many locks. After
 * SIGTERM the program releases all locks and reports. Then the process ends by itself, because a closed client leaves no
 * timer and no socket. Each line of the output is a `HolderMessage`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '../../clients/typescript';
import type { SessionClient } from '../../clients/typescript/sessions/session-client';
import type { SessionNews } from '../../clients/typescript/sessions/session-news';
import { lock, openSession } from '../support/clients/sdk-session';
import type { Micros } from '../support/history';
import { monotonicMicros } from '../support/history-recorder';

export interface HolderTask {
  readonly holderId: string;
  readonly addresses: readonly string[];
  readonly ttlMs: number;
  /** The locks are named "<holderId> 0", "<holderId> 1" and so on. */
  readonly count: number;
}

/** The attaches of one session. The time is on the machine's monotonic clock. */
export interface SessionSeen {
  attached: number;
  lastAttachAt: Micros;
}

export interface HolderReport {
  readonly sessions: readonly SessionSeen[];
  /** The names without the answer `released: true`, with the answer or the error. */
  readonly notReleased: readonly string[];
  readonly renewalFailures: number;
  readonly smallestRemainingMs: number;
  /** The longest time for which this process did not run its timers. */
  readonly longestStallMs: number;
}

export type HolderMessage =
  | { readonly kind: 'holds'; readonly tokens: Readonly<Record<string, string>> }
  | { readonly kind: 'lost'; readonly name: string; readonly cause: string }
  | ({ readonly kind: 'report' } & HolderReport);

const SAMPLE_MS = 25;
const CLOSE_TIMEOUT_MS = 60_000;

function say(message: HolderMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

class LeaseHolder {
  private readonly sessions: SessionSeen[] = [];
  private readonly client: SessionClient;
  private leases: readonly Lease[] = [];
  private isReleasing = false;
  private renewalFailures = 0;
  private smallestRemainingMs = Infinity;
  private longestStallMs = 0;

  constructor(private readonly task: HolderTask) {
    const { addresses, holderId } = task;
    this.client = openSession({ addresses, holderId, onNews: (news) => this.note(news) });
  }

  async acquireAll(): Promise<void> {
    const { holderId, count, ttlMs } = this.task;
    const acquire = (_: unknown, index: number) => lock(this.client, `${holderId} ${index}`, { ttlMs });
    this.leases = await Promise.all(Array.from({ length: count }, acquire));
    for (const lease of this.leases) lease.signal.addEventListener('abort', () => this.over(lease));
    const tokens = this.leases.map(({ name, fencingToken }) => [name, String(fencingToken)] as const);
    say({ kind: 'holds', tokens: Object.fromEntries(tokens) });
    void this.sample();
  }

  async releaseAll(): Promise<void> {
    // A deadline that has passed unnoticed is a loss too.
    for (const lease of this.leases) void lease.isOver;
    this.isReleasing = true;
    const notReleased: string[] = [];
    const release = async (lease: Lease): Promise<void> => {
      const answer = await lease.release().catch(String);
      if (typeof answer === 'string') notReleased.push(`${lease.name}: ${answer}`);
      else if (!answer.released) notReleased.push(`${lease.name}: ended before, cause ${answer.lossCause}`);
    };
    const all = Promise.all(this.leases.map(release));
    // `close` waits for the answers, and rejects the releases that have none in time.
    await this.client.close(CLOSE_TIMEOUT_MS);
    await all;
    const { sessions, renewalFailures, smallestRemainingMs, longestStallMs } = this;
    say({ kind: 'report', sessions, notReleased, renewalFailures, smallestRemainingMs, longestStallMs });
  }

  private over(lease: Lease): void {
    if (this.isReleasing) return;
    say({ kind: 'lost', name: lease.name, cause: String(lease.signal.reason) });
  }

  private note(news: SessionNews): void {
    if (news.kind === 'renewalFailed') this.renewalFailures += 1;
    if (news.kind === 'started') {
      this.sessions.push({ attached: 0, lastAttachAt: 0 });
    }
    const session = this.sessions.at(-1);
    if (news.kind !== 'attached' || session === undefined) return;
    session.attached += 1;
    session.lastAttachAt = monotonicMicros();
  }

  private async sample(): Promise<void> {
    let last = performance.now();
    while (!this.isReleasing) {
      await sleep(SAMPLE_MS);
      const now = performance.now();
      this.longestStallMs = Math.max(this.longestStallMs, now - last - SAMPLE_MS);
      last = now;
      for (const { deadline } of this.leases) {
        this.smallestRemainingMs = Math.min(this.smallestRemainingMs, deadline - now);
      }
    }
  }
}

async function run(task: HolderTask): Promise<void> {
  const holder = new LeaseHolder(task);
  process.once('SIGTERM', () => void holder.releaseAll());
  await holder.acquireAll();
}

if (require.main === module) {
  run(JSON.parse(process.argv[2] ?? '') as HolderTask).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
