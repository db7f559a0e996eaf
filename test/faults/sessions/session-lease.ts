import { deadlineOf, type Held } from '../held';
import type { Micros } from '../../support/history';
import type { Told } from './link-command';
import type { LeaseCommand } from './lease-command';
import type { SessionRecord } from './session-record';

/** Why a lease is over for its client. */
export type LeaseOver = 'deadline' | 'release' | 'lost' | 'revoked';

/** A lease of a client, in whichever session it is. A lease that is over stays over. */
export class SessionLease {
  deadline: Micros;
  ttlUs: Micros;
  over: LeaseOver | undefined;
  /** The latest command that asked for this lease. Only its session tells the end of the lease. */
  speaker: LeaseCommand;
  /** The commands that have the lease, in all open sessions. */
  private readonly commands = new Set<LeaseCommand>();

  constructor(
    readonly held: Held,
    speaker: LeaseCommand,
    private readonly record: SessionRecord,
  ) {
    this.deadline = held.deadline;
    this.ttlUs = held.ttlUs;
    this.speaker = speaker;
    this.commands.add(speaker);
  }

  /** True while the client may act as the holder. */
  get isBelieved(): boolean {
    return this.over === undefined && this.deadline > this.record.now();
  }

  join(command: LeaseCommand): void {
    this.commands.add(command);
  }

  leave(command: LeaseCommand): void {
    this.commands.delete(command);
  }

  /** Ends the belief if the deadline has passed. Must be called before any later news of the lease. */
  checkDeadline(now: Micros): void {
    if (this.over === undefined && this.deadline <= now) this.letGo('deadline');
  }

  /** The client stops its work: its deadline has passed, or its release is sent. */
  letGo(reason: 'deadline' | 'release'): void {
    if (this.over !== undefined) return;
    this.over = reason;
    for (const { call } of this.commands) {
      this.record.write({ type: 'let_go', ...this.record.ofCall(call), lease: this.held.hash, reason });
    }
  }

  /** The server has told the end of the lease to `teller`, and the history has this end. */
  end(over: LeaseOver, teller: LeaseCommand): void {
    if (this.over !== undefined) return;
    this.over = over;
    for (const command of this.commands) {
      if (command !== teller) this.record.ended(command.call, 'CANCELLED', null);
    }
  }

  /** A renewal, or an answer to an attach. The latest deadline counts. */
  confirmed(expireOffsetUs: Micros, ttlUs: Micros, { t0, at }: Told): Micros {
    const deadline = deadlineOf(t0, expireOffsetUs, at, ttlUs);
    this.ttlUs = ttlUs;
    if (this.over === undefined) this.deadline = Math.max(this.deadline, deadline);
    return deadline;
  }
}
