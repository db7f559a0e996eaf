import type { Micros } from '../../support/history';
import { monotonicMicros } from '../../support/history-recorder';
import type { HeartbeatGate } from './heartbeat-gate';

export interface HeartbeatsOptions {
  readonly gate: HeartbeatGate;
  readonly shortestTtlUs: () => Micros;
  /** Sends a message with this heartbeat only. */
  readonly send: (heartbeatId: number) => void;
  /** A heartbeat was not answered in time. */
  readonly unanswered: () => void;
}

/** The values before the first response. */
const INTERVAL_US: Micros = 5_000_000;
const TIMEOUT_US: Micros = 15_000_000;
/** The shortest ttl may change between two heartbeats. */
const LONGEST_SLEEP_US: Micros = 50_000;

/** The heartbeats of one session, with the time of each send (docs/api/sessions.md, "Heartbeats" and "Deadlines"). */
export class Heartbeats {
  intervalUs = INTERVAL_US;
  timeoutUs = TIMEOUT_US;
  /** The time before the send of each heartbeat from the latest named heartbeat on, in order. */
  private readonly sentAt = new Map<number, Micros>();
  private lastId = 0;
  private lastNamed = 0;
  private lastBeatAt: Micros = 0;
  private expectedAt: Micros = Infinity;
  /** The server is judged after this time, because this process itself was stopped. */
  private judgeAt: Micros = 0;
  private timer: NodeJS.Timeout | undefined;
  /** The heartbeats that a fault delays. */
  private readonly delayed: number[] = [];

  constructor(private readonly options: HeartbeatsOptions) {}

  /** The first heartbeat, which is sent with `start`. */
  first(): number {
    const id = this.next();
    this.schedule();
    return id;
  }

  /** The send time of the heartbeat that a response names. Undefined if the client does not know this heartbeat. */
  named(id: number): Micros | undefined {
    const t0 = this.sentAt.get(id);
    if (t0 === undefined || id < this.lastNamed) return undefined;
    this.lastNamed = id;
    for (const known of this.sentAt.keys()) {
      if (known >= id) break;
      this.sentAt.delete(known);
    }
    return t0;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.delayed.length = 0;
    this.lastBeatAt = Infinity;
  }

  private next(): number {
    this.lastId += 1;
    this.lastBeatAt = monotonicMicros();
    this.sentAt.set(this.lastId, this.lastBeatAt);
    return this.lastId;
  }

  private get everyUs(): Micros {
    return Math.min(this.intervalUs, this.options.shortestTtlUs() / 6);
  }

  /** The time by which the oldest unanswered heartbeat must be answered. */
  private get answerDueAt(): Micros {
    const oldest = [...this.sentAt].find(([id]) => id > this.lastNamed);
    const patienceUs = Math.min(this.timeoutUs, this.options.shortestTtlUs() / 4);
    return oldest === undefined ? Infinity : Math.max(oldest[1] + patienceUs, this.judgeAt);
  }

  private tick(): void {
    const now = monotonicMicros();
    if (now - this.expectedAt > this.everyUs) this.judgeAt = now + this.everyUs;
    if (now >= this.answerDueAt) return this.options.unanswered();
    if (now >= this.lastBeatAt + this.everyUs) this.beat();
    this.schedule();
  }

  private schedule(): void {
    const now = monotonicMicros();
    const dueAt = Math.min(this.lastBeatAt + this.everyUs, this.answerDueAt, now + LONGEST_SLEEP_US);
    this.expectedAt = Math.max(now + 1000, dueAt);
    this.timer = setTimeout(() => this.tick(), Math.ceil((this.expectedAt - now) / 1000));
  }

  private beat(): void {
    const { gate } = this.options;
    if (gate.mode === 'silent') {
      this.lastBeatAt = monotonicMicros();
      return;
    }
    const id = this.next();
    if (gate.mode === 'drop') return;
    this.delayed.push(id);
    if (gate.mode === 'delay') setTimeout(() => this.release(id), gate.delayMs);
    else this.release(id);
  }

  /** Sends a heartbeat. Ids must rise, so the delayed heartbeats before it are sent first. */
  private release(id: number): void {
    while ((this.delayed[0] ?? Infinity) <= id) this.options.send(this.delayed.shift() as number);
  }
}
