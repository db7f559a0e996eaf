import type { Clock } from '../base/clock';
import { FairQueue, type Priority } from '../flow/fair-queue';
import type { CommandDeadlines, Expiring } from './deadlines';
import { LatencyLimit } from './latency-limit';
import type { Turn } from './commands';

/** A command that waits until it may be sent. */
export interface WaitingCommand {
  readonly turn: Turn;
  /** True: the command fails as overloaded if it would wait too long. False: the command waits until its deadline. */
  readonly sheddable: boolean;
  /** By the monotonic clock (ms). */
  readonly deadline: number;
  /** After `deadline`, the command waits until this time while Redis answers other commands (ms). */
  readonly patientUntil: number;
  /** Sends the command, which has a place in the window now. Each send ends with one call of `leave`. */
  send(): void;
  /** Called instead of `send`. */
  fail(kind: 'overloaded' | 'unavailable'): void;
}

/** The times of an answered command (ms). Both are undefined for a command without a guard, and after an error. */
export interface Answer {
  /** When the command left this process, by the monotonic clock. */
  readonly leftAt?: number | undefined;
  /** When the script ran, by the clock of Redis. */
  readonly ranAt?: number | undefined;
}

/** The longest time that a sheddable command waits to be sent (ms). */
const LONGEST_WAIT_MS = 500;
/** How many commands of one priority may wait, to limit memory. Only sheddable commands are refused. */
const MOST_WAITING = 10_000;
/** The fewest places of each priority. */
const LEAST_PLACES: Readonly<Record<Priority, number>> = { high: 64, normal: 16, low: 8 };
/**
 * The places of a priority while commands of a higher priority wait. This number of commands delays the higher priority
 * by a few milliseconds at most: an acquire takes 0.1 ms in Redis, and a slow search 1.4 ms.
 */
const YIELDED_PLACES: Readonly<Record<Priority, number>> = { high: Infinity, normal: 8, low: 2 };
/** One pause of Redis or of this process must not make the next commands seem slow. */
const LONGEST_SPACING_MS = 50;
const SPACING_WEIGHT = 1 / 32;

/** The places of one priority. */
interface Lane {
  readonly limit: LatencyLimit;
  /** May contain commands that have failed at their deadlines. */
  readonly queue: FairQueue<Waiting>;
  /** The commands in the queue that have not failed. */
  waitingCount: number;
  inFlight: number;
  /** The average time between two answers while commands wait (ms). */
  spacingMs: number;
  /** The time of the last answer, if commands waited then. */
  lastBusyAt: number | undefined;
}

/**
 * The commands in flight to one node of Redis. Other commands wait here and not in Redis, because only this queue can
 * send urgent commands first and serve the callers in turn. Each priority has its own places, so a backlog of acquires
 * never takes the place of a renewal. While a higher priority waits, a lower priority gets fewer places, but never
 * none.
 */
export class CommandWindow {
  private readonly lanes: Lanes = {
    high: newLane('high', 64),
    normal: newLane('normal', 64),
    low: newLane('low', 8),
  };
  /**
   * The time of the last answer, or of the first send after Redis had answered all commands (ms). Undefined: Redis has
   * answered all commands.
   */
  private silentSince: number | undefined;
  private sending = false;

  constructor(
    private readonly clock: Clock,
    private readonly deadlines: CommandDeadlines,
  ) {}

  /** Takes a place if a command of this priority may be sent now. */
  tryEnter(priority: Priority): boolean {
    const lane = this.lanes[priority];
    if (lane.waitingCount > 0 || lane.inFlight >= this.placesOf(priority)) return false;
    this.enter(lane);
    return true;
  }

  /** Sends the command when its turn has come. Fails the command immediately if it would wait too long. */
  wait(command: WaitingCommand): void {
    const { turn, sheddable } = command;
    const lane = this.lanes[turn.priority];
    const now = this.clock.now();
    const deadline = sheddable ? latestShed(command, now) : command.deadline;
    const expectedMs = lane.spacingMs * Math.min(lane.queue.ahead(turn.caller), lane.waitingCount);
    const isRefused = now + expectedMs > deadline || lane.queue.size >= MOST_WAITING;
    if (sheddable && isRefused) return this.fail(command);
    const waiting = new Waiting(
      command,
      () => this.latestSend(deadline, command.patientUntil),
      () => {
        lane.waitingCount -= 1;
        this.fail(command);
      },
    );
    lane.limit.full();
    // The average of an earlier time of load says little after a time without a queue.
    if (lane.waitingCount === 0) lane.spacingMs /= 2;
    lane.waitingCount += 1;
    lane.queue.push(turn.caller, waiting);
    this.deadlines.add(waiting);
  }

  /** Frees a place. Undefined: Redis did not answer. */
  leave(priority: Priority, answer: Answer | undefined): void {
    const lane = this.lanes[priority];
    lane.inFlight -= 1;
    if (answer) this.noteAnswer(lane, answer);
    this.sendWaiting();
  }

  private noteAnswer(lane: Lane, { leftAt, ranAt }: Answer): void {
    const now = this.clock.now();
    this.silentSince = this.inFlightCount > 0 ? now : undefined;
    if (leftAt !== undefined && ranAt !== undefined) lane.limit.answered(leftAt, ranAt, now);
    if (lane.lastBusyAt !== undefined) {
      const spacingMs = Math.min(now - lane.lastBusyAt, LONGEST_SPACING_MS);
      lane.spacingMs += (spacingMs - lane.spacingMs) * SPACING_WEIGHT;
    }
    lane.lastBusyAt = lane.waitingCount > 0 ? now : undefined;
  }

  /** A node that answers nothing is not overloaded but unavailable. */
  private fail(command: WaitingCommand): void {
    const isAnswering = this.clock.now() <= this.answeringUntil;
    command.fail(command.sheddable && isAnswering ? 'overloaded' : 'unavailable');
  }

  /** The node counts as answering until this time (ms). */
  private get answeringUntil(): number {
    return (this.silentSince ?? Infinity) + LONGEST_WAIT_MS;
  }

  private latestSend(deadline: number, patientUntil: number): number {
    return Math.max(deadline, Math.min(patientUntil, this.answeringUntil));
  }

  private sendWaiting(): void {
    // A command that fails while it is sent leaves the window immediately. The loop then takes the next command.
    if (this.sending) return;
    this.sending = true;
    try {
      this.sendOf('high');
      this.sendOf('normal');
      this.sendOf('low');
    } finally {
      this.sending = false;
    }
  }

  private sendOf(priority: Priority): void {
    const lane = this.lanes[priority];
    while (lane.queue.size > 0 && lane.inFlight < this.placesOf(priority)) {
      const waiting = lane.queue.shift();
      if (waiting === undefined || waiting.settled) continue;
      waiting.settled = true;
      lane.waitingCount -= 1;
      this.enter(lane);
      waiting.command.send();
    }
  }

  private enter(lane: Lane): void {
    lane.inFlight += 1;
    this.silentSince ??= this.clock.now();
  }

  private get inFlightCount(): number {
    const { high, normal, low } = this.lanes;
    return high.inFlight + normal.inFlight + low.inFlight;
  }

  private placesOf(priority: Priority): number {
    const { current } = this.lanes[priority].limit;
    return this.mustYield(priority) ? Math.min(current, YIELDED_PLACES[priority]) : current;
  }

  private mustYield(priority: Priority): boolean {
    if (priority === 'high') return false;
    const { high, normal } = this.lanes;
    return high.waitingCount > 0 || (priority === 'low' && normal.waitingCount > 0);
  }
}

type Lanes = Readonly<Record<Priority, Lane>>;

function newLane(priority: Priority, initial: number): Lane {
  const limit = new LatencyLimit({ least: LEAST_PLACES[priority], initial });
  return { limit, queue: new FairQueue(), waitingCount: 0, inFlight: 0, spacingMs: 0, lastBusyAt: undefined };
}

function latestShed({ turn, deadline }: WaitingCommand, now: number): number {
  return Math.min(now + LONGEST_WAIT_MS, deadline, turn.sendBefore ?? Infinity);
}

class Waiting implements Expiring {
  /** True: the command was sent, or has failed. */
  settled = false;

  constructor(
    readonly command: WaitingCommand,
    private readonly latestSend: () => number,
    private readonly fail: () => void,
  ) {}

  get deadline(): number {
    return this.latestSend();
  }

  expire(): void {
    this.settled = true;
    this.fail();
  }
}
