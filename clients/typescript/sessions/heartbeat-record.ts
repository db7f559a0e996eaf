import { NUMBERS } from '../numbers';

const { maxHeartbeatsRemembered } = NUMBERS.session;

/** The times at which the heartbeats of one session were sent. */
export class HeartbeatRecord {
  private readonly sentAt = new Map<number, number>();
  private latest = 0;
  private answered = 0;

  /** Call before the heartbeat is passed to the gRPC library. Returns the heartbeat's id. */
  send(now: number): number {
    this.latest += 1;
    this.sentAt.set(this.latest, now);
    if (this.sentAt.size > maxHeartbeatsRemembered) this.sentAt.delete(this.latest - maxHeartbeatsRemembered);
    return this.latest;
  }

  /**
   * The time of the heartbeat that a response names. Forgets all earlier heartbeats, because later responses never name
   * them. Undefined: the heartbeat was never sent or is forgotten, so nothing in the response may be believed.
   */
  answer(id: number): number | undefined {
    const t0 = this.sentAt.get(id);
    if (t0 === undefined) return undefined;
    for (const earlier of this.sentAt.keys()) {
      if (earlier >= id) break;
      this.sentAt.delete(earlier);
    }
    this.answered = id;
    return t0;
  }

  /** The time of the latest heartbeat. -Infinity before the first. */
  get lastSentAt(): number {
    return this.sentAt.get(this.latest) ?? -Infinity;
  }

  /** The time of the earliest heartbeat without an answer. Undefined: every heartbeat has an answer. */
  get unansweredSince(): number | undefined {
    for (const [id, t0] of this.sentAt) if (id > this.answered) return t0;
    return undefined;
  }
}
