/** A connection that delivers more calls in one turn of the event loop is busy. */
const FEW_CALLS = 16;
/** A new connection counts as busy, until it has delivered few calls several times. */
const FIRST_BURST = 8 * FEW_CALLS;
/** After a step with too many calls, busy connections are not read for this multiple of the time of the step. */
const PAUSE_FACTOR = 3;
const LONGEST_PAUSE_MS = 100;
/** A connection with answers that its client does not take is not read for this time. */
const WRITING_PAUSE_MS = 20;
/** The longest sum of the pauses in one round over all busy connections. */
const LONGEST_ROUND_MS = 2000;
/** After a call of a connection with few calls, such connections are protected for this time (ms). */
const PROTECTED_MS = 1000;
/** The largest number of connections that are paused together. Each pause takes a system call. */
const MOST_PAUSED = 1024;
/**
 * The bound of the calls of one connection that have not begun, or have an answer that the client has not taken. At this
 * bound, the server stops reading the connection until half of the calls have begun or ended.
 */
const FULL_AT = 256;
/**
 * The bound of the calls of all connections that have not begun: each such call takes 10 KB. At this bound no busy
 * connection is read, until half of the calls have begun.
 */
const MOST_HELD = 1024;

/** A connection that delivers calls. The fields belong to `ReadingTurns`. */
export abstract class Reader {
  /** The calls of this turn of the event loop. */
  delivered = 0;
  /** The largest number of calls in one of the latest turns. */
  burst = FIRST_BURST;
  /** The calls that have not begun. */
  heldCount = 0;
  /** The answered calls whose answers the client has not taken. */
  untakenCount = 0;
  isFull = false;
  isPaused = false;
  isRead = true;
  isDelayed = false;

  /** False: the connection is closed. */
  abstract readonly isOpen: boolean;
  /** True while the client does not take the answers that were sent. */
  abstract readonly isWriting: boolean;
  /** Stops or continues the reading of the connection. */
  abstract setReading(reading: boolean): void;
}

/**
 * Divides the time for reading between the connections. Node reads all sockets with data in one step, and nothing else
 * happens until all calls of all sockets have arrived. When a step takes too long, the server stops reading the busy
 * connections for three times the time of the step, and then reads them in turn. Connections with few calls are always
 * read. TCP slows down the client of a connection that is not read.
 */
export class ReadingTurns {
  /** The busy connections, the least recently read connection first. */
  private readonly busy = new Set<Reader>();
  private readonly delivering: Reader[] = [];
  private paused: Reader[] = [];
  /** While busy connections are paused: the end of the pause (ms). */
  private pausedUntil = 0;
  /** The calls of all connections that have not begun. */
  private heldCount = 0;
  /** When a connection with few calls delivered its latest call (ms). */
  private fewCallsAt = -Infinity;

  /** True while busy connections are not read. */
  get isPaused(): boolean {
    return this.paused.length > 0;
  }

  /** Adds a new connection. */
  add(reader: Reader): void {
    this.busy.add(reader);
    if (this.isPaused) this.pauseOne(reader);
  }

  delete(reader: Reader): void {
    this.busy.delete(reader);
  }

  /**
   * Notes that the client has closed a connection. All its calls end in one step. So no other busy connection is read
   * in this step: if a thousand clients vanish at the same time, their connections end one by one.
   */
  ended(reader: Reader): void {
    if (this.busy.delete(reader)) this.pause();
  }

  /** Notes a call of the connection. */
  delivered(reader: Reader): void {
    if (reader.delivered === 0) this.delivering.push(reader);
    reader.delivered += 1;
    // After a write Node itself reads again. The calls of what was read together still arrive.
    if (!reader.isRead) reader.setReading(false);
  }

  /** Notes that a call of the connection does not begin now. */
  hold(reader: Reader): void {
    reader.heldCount += 1;
    this.heldCount += 1;
    if (this.heldCount >= MOST_HELD) this.pause();
    fill(reader);
  }

  /** Notes that a held call begins or ends. */
  release(reader: Reader): void {
    reader.heldCount -= 1;
    this.heldCount -= 1;
    drain(reader);
  }

  /** Notes that a call was answered without beginning. Its client must take the answer. */
  answered(reader: Reader): void {
    reader.untakenCount += 1;
    fill(reader);
  }

  /** Notes that the client has taken such an answer, or that its connection has ended. */
  taken(reader: Reader): void {
    reader.untakenCount -= 1;
    drain(reader);
  }

  /** Reads no busy connection for now. */
  pause(): void {
    if (this.isPaused) return;
    this.pausedUntil = Infinity;
    for (const reader of this.busy) {
      if (this.paused.length === MOST_PAUSED) return;
      this.pauseOne(reader);
    }
  }

  /** Ends a step that began to read calls at `since`. */
  next(since: number, now: number): void {
    for (const reader of this.delivering) {
      reader.burst = Math.max(reader.delivered, reader.burst / 2);
      reader.delivered = 0;
      this.busy.delete(reader);
      if (reader.burst <= FEW_CALLS) this.fewCallsAt = now;
      else if (reader.isOpen) this.busy.add(reader);
    }
    this.delivering.length = 0;
    if (!this.isPaused) return;
    if (this.pausedUntil === Infinity) this.pausedUntil = now + this.pauseMs(now - since, now);
    if (now >= this.pausedUntil && this.heldCount < MOST_HELD / 2) this.resume();
  }

  /** True if connections with few calls are in use. Nobody profits from a pause if all connections are busy. */
  mustProtect(now: number): boolean {
    return now - this.fewCallsAt <= PROTECTED_MS;
  }

  private pauseOne(reader: Reader): void {
    reader.isPaused = true;
    apply(reader);
    this.paused.push(reader);
  }

  private pauseMs(readingMs: number, now: number): number {
    if (!this.mustProtect(now)) return 0;
    return Math.min(PAUSE_FACTOR * readingMs, LONGEST_PAUSE_MS, LONGEST_ROUND_MS / this.busy.size);
  }

  private resume(): void {
    for (const reader of this.paused) reader.isPaused = false;
    // The system reports the sockets in the order in which reading begins again.
    for (const reader of this.busy) apply(reader);
    for (const reader of this.paused) apply(reader);
    this.paused = [];
  }
}

function fill(reader: Reader): void {
  if (reader.heldCount + reader.untakenCount < FULL_AT) return;
  reader.isFull = true;
  apply(reader);
}

function drain(reader: Reader): void {
  if (!reader.isFull || reader.heldCount + reader.untakenCount > FULL_AT / 2) return;
  reader.isFull = false;
  apply(reader);
}

function apply(reader: Reader): void {
  const isRead = !reader.isFull && !reader.isPaused;
  if (isRead === reader.isRead) return;
  // Node itself may have stopped the reading, because the client does not read its answers.
  if (isRead && reader.isWriting) return applyLater(reader);
  reader.isRead = isRead;
  reader.setReading(isRead);
}

function applyLater(reader: Reader): void {
  if (reader.isDelayed) return;
  reader.isDelayed = true;
  setTimeout(() => {
    reader.isDelayed = false;
    apply(reader);
  }, WRITING_PAUSE_MS).unref();
}
