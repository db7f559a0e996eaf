import type { TimerQueue, TimerEntry } from './timer-queue';
import type { Clock } from '../clock';
import { reportDefect, StoreFailure } from '../errors';
import type { Resource } from './lease';
import type { Granted, QueueSnapshot, PermitsStore, PermitsWanted, Waiting } from './permits-store';

/** What a waiting call is told, the most urgent first. */
const signals = ['cancelled', 'superseded', 'draining', 'ended', 'recheck'] as const;
export type Signal = (typeof signals)[number];

/** One call that waits in a queue of the store. */
export class Waiter {
  position: number;
  snapshot: QueueSnapshot;
  private readonly raised = new Set<Signal>();
  private wakeUp: (() => void) | undefined;

  constructor(
    readonly resource: Resource,
    readonly wanted: PermitsWanted,
    waiting: Waiting,
    private readonly onPosition: ((waiter: Waiter) => void) | undefined,
  ) {
    this.ticket = waiting.ticket;
    this.position = waiting.position;
    this.snapshot = waiting.snapshot;
  }

  /** The place in the queue, which outlives a store that forgot it. */
  ticket: string;

  raise(signal: Signal): void {
    this.raised.add(signal);
    this.wakeUp?.();
  }

  /** The most urgent signal raised, as soon as there is one. `look` is taken; the others stay. */
  async next(): Promise<Signal> {
    for (;;) {
      const signal = signals.find((candidate) => this.raised.has(candidate));
      if (signal) {
        if (signal === 'recheck') this.raised.delete(signal);
        return signal;
      }
      await new Promise<void>((resolve) => (this.wakeUp = resolve));
    }
  }

  update(position: number, snapshot: QueueSnapshot): void {
    this.position = position;
    this.snapshot = snapshot;
    this.onPosition?.(this);
  }
}

/** A resource that calls of this server wait for. */
interface Watch {
  readonly resource: Resource;
  readonly waiters: Map<string, Waiter>;
  next: TimerEntry | undefined;
  nextAt: number;
  touching: boolean;
  /** Another touch is wanted as soon as this one is answered. */
  again: boolean;
}

const TOUCH_INTERVAL_MS = 1000;
const RETRY_INTERVAL_MS = 250;
/** A touch at the earliest end comes this much after it; two touches are never nearer than this. */
const AFTER_END_MS = 5;
const SHORTEST_INTERVAL_MS = 25;
/** Waiters asked after in one touch; the others take their turn in the next. */
const ASKED_AT_ONCE = 64;
/** Hints that came before their waiter was known here. */
const MAX_EARLY = 1024;

export function requestKey(resource: Resource, requestId: string): string {
  return `${requestId}${resource.service}:${resource.name}`;
}

/**
 * The calls of this server that wait, and the heartbeat that keeps their places: each resource waited for is
 * touched every second, and once more when the earliest lease there ends. So a hint that is lost costs at
 * most a second, and nobody polls per waiter.
 */
export class WaitQueue {
  private readonly watches = new Map<string, Watch>();
  private readonly early = new Set<string>();
  private readonly sweeping = new Map<string, 'once' | 'again'>();

  constructor(
    private readonly store: PermitsStore,
    private readonly clock: Clock,
    private readonly agenda: TimerQueue,
    private readonly onDefect: (error: unknown) => void,
  ) {}

  get waiting(): number {
    let count = 0;
    for (const watch of this.watches.values()) count += watch.waiters.size;
    return count;
  }

  get watched(): number {
    return this.watches.size;
  }

  *all(): Iterable<Waiter> {
    for (const watch of this.watches.values()) yield* watch.waiters.values();
  }

  /** Starts to look after a call whose place the store has just confirmed. */
  add(waiter: Waiter): void {
    const { resource, wanted, snapshot } = waiter;
    const key = watchKey(resource);
    let watch = this.watches.get(key);
    if (!watch) {
      watch = {
        resource,
        waiters: new Map(),
        next: undefined,
        nextAt: 0,
        touching: false,
        again: false,
      };
      this.watches.set(key, watch);
    }
    watch.waiters.get(wanted.requestId)?.raise('superseded');
    watch.waiters.set(wanted.requestId, waiter);
    if (this.early.delete(requestKey(resource, wanted.requestId))) waiter.raise('recheck');
    this.schedule(watch, snapshot.earliestEndMs);
  }

  remove(waiter: Waiter): void {
    const key = watchKey(waiter.resource);
    const watch = this.watches.get(key);
    if (watch?.waiters.get(waiter.wanted.requestId) !== waiter) return;
    watch.waiters.delete(waiter.wanted.requestId);
    if (watch.waiters.size > 0) return;
    watch.next?.cancel();
    this.watches.delete(key);
  }

  /** A hint for a request; true if a call waits here for it. */
  look(resource: Resource, requestId: string): boolean {
    const waiter = this.watches.get(watchKey(resource))?.waiters.get(requestId);
    waiter?.raise('recheck');
    return waiter !== undefined;
  }

  /** Remembers a hint that overtook the reply by which its call will be known here. */
  recheckLater(resource: Resource, requestId: string): void {
    this.early.add(requestKey(resource, requestId));
    if (this.early.size > MAX_EARLY) for (const oldest of this.early) return void this.early.delete(oldest);
  }

  takeEarly(resource: Resource, requestId: string): boolean {
    return this.early.delete(requestKey(resource, requestId));
  }

  /**
   * Goes on where a bounded script stopped. Nobody overtakes meanwhile: whoever waits is ahead. It asks after no
   * waiter, for there may be many steps to go.
   */
  more(resource: Resource): void {
    const key = watchKey(resource);
    if (this.sweeping.has(key)) this.sweeping.set(key, 'again');
    else void this.sweep(resource, key);
  }

  /** One step after the other; whoever asks meanwhile, this step's own reply too, asks for the next. */
  private async sweep(resource: Resource, key: string): Promise<void> {
    do {
      this.sweeping.set(key, 'once');
      // If it fails, whoever comes next goes on.
      await this.store.touch(resource, []).catch((error) => reportDefect(error, this.onDefect));
    } while (this.sweeping.get(key) === 'again');
    this.sweeping.delete(key);
  }

  /**
   * A lease that was handed over and may end before anybody's next touch. Whoever waits behind it has heard of the
   * offer's end only, so here the end is looked for.
   */
  handedOver(resource: Resource, { sentAt, remainingMs }: Granted): void {
    if (remainingMs >= TOUCH_INTERVAL_MS) return;
    this.agenda.at(sentAt + remainingMs + AFTER_END_MS, () => this.more(resource));
  }

  private schedule(watch: Watch, earliestEndMs: number | undefined): void {
    const untilEnd =
      earliestEndMs === undefined ? Infinity : Math.max(earliestEndMs + AFTER_END_MS, SHORTEST_INTERVAL_MS);
    this.scheduleIn(watch, Math.min(TOUCH_INTERVAL_MS, untilEnd));
  }

  /** Never later than what is due already: calls that keep coming must not put the touch off. */
  private scheduleIn(watch: Watch, delayMs: number): void {
    const at = this.clock.now() + delayMs;
    if (watch.next && watch.nextAt <= at) return;
    watch.next?.cancel();
    watch.nextAt = at;
    watch.next = this.agenda.at(at, () => {
      watch.next = undefined;
      this.touchNow(watch);
    });
  }

  private touchNow(watch: Watch): void {
    if (watch.touching) {
      watch.again = true;
      return;
    }
    watch.touching = true;
    watch.again = false;
    this.touch(watch)
      .then(
        (earliestEndMs) => this.schedule(watch, earliestEndMs),
        (error) => {
          reportDefect(error, this.onDefect);
          const isPause = error instanceof StoreFailure && error.kind === 'quarantined';
          this.scheduleIn(watch, isPause ? TOUCH_INTERVAL_MS : RETRY_INTERVAL_MS);
        },
      )
      .then(() => {
        watch.touching = false;
        if (watch.waiters.size === 0) watch.next?.cancel();
        else if (watch.again) this.touchNow(watch);
      })
      .catch(this.onDefect);
  }

  private async touch(watch: Watch): Promise<number | undefined> {
    const asked: Waiter[] = [];
    for (const waiter of watch.waiters.values()) {
      asked.push(waiter);
      if (asked.length === ASKED_AT_ONCE) break;
    }
    const reply = await this.store.touch(
      watch.resource,
      asked.map((waiter) => waiter.wanted),
    );
    for (const [index, waiter] of asked.entries()) {
      const word = reply.waiters[index];
      if (watch.waiters.get(waiter.wanted.requestId) !== waiter) continue; // it ended meanwhile
      if (watch.waiters.size > ASKED_AT_ONCE) {
        // To the end of the line of those to ask after; its place in the queue is the store's.
        watch.waiters.delete(waiter.wanted.requestId);
        watch.waiters.set(waiter.wanted.requestId, waiter);
      }
      if (typeof word === 'number') waiter.update(word, reply.snapshot);
      else if (word) waiter.raise(word);
    }
    // The store has forgotten the queue: ask after everybody now, not 64 a second.
    if (watch.waiters.size > asked.length && reply.waiters.every((word) => word === 'recheck'))
      watch.again = true;
    return reply.snapshot.earliestEndMs;
  }
}

function watchKey(resource: Resource): string {
  return `${resource.service}:${resource.name}`;
}
