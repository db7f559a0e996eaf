import type { Call } from '../call';
import type { Clock } from '../clock';
import { draining } from '../leases/lease-errors';
import type { LeaseEngine } from './lease-engine';
import { Session } from './session';
import { sessionDraining, tooManySessions } from './session-errors';
import type { SessionLimits, SessionSink, SessionStart } from './session-requests';

export interface SessionsOptions {
  readonly engine: LeaseEngine;
  readonly clock: Clock;
  readonly limits: SessionLimits;
  /** At least 0 and below 1. */
  readonly random: () => number;
}

/** The clients of a draining server open their next sessions within this time, so that they do not come all at once (ms). */
const LEAVING_MS = 1000;

/** The sessions of one server. */
export class Sessions {
  private readonly open = new Set<Session>();
  private isDraining = false;
  private onIdle: (() => void) | undefined;

  constructor(private readonly options: SessionsOptions) {}

  get limits(): SessionLimits {
    return this.options.limits;
  }

  /** The number of open sessions. */
  get size(): number {
    return this.open.size;
  }

  /** Throws DRAINING or QUOTA_EXCEEDED. */
  begin(stream: Call, start: SessionStart, sink: SessionSink): Session {
    const { engine, clock, limits } = this.options;
    if (this.isDraining) throw draining();
    if (this.open.size >= limits.maxSessions) throw tooManySessions(limits.maxSessions);
    stream.account?.openSession(start.clientId);
    const onChange = (): void => this.endIfMoved(session);
    const session = new Session({ engine, clock, limits, stream, start, sink, onChange });
    this.open.add(session);
    const forget = (): void => {
      this.open.delete(session);
      stream.account?.closeSession(start.clientId);
      if (this.open.size === 0) this.onIdle?.();
    };
    session.done.then(forget, forget);
    return session;
  }

  /**
   * Asks all clients to open their next sessions elsewhere. Each session ends when its leases are attached elsewhere, and at
   * the latest after `withinMs`. Resolves when all sessions have ended.
   */
  async drain(withinMs: number): Promise<void> {
    const { clock, random } = this.options;
    this.isDraining = true;
    for (const session of [...this.open]) {
      session.leave(random() * Math.min(LEAVING_MS, withinMs / 4));
      this.endIfMoved(session);
    }
    const timer = clock.after(withinMs, () => {
      for (const session of this.open) session.end(sessionDraining());
    });
    if (this.open.size > 0) await new Promise<void>((resolve) => (this.onIdle = resolve));
    timer.cancel();
  }

  private endIfMoved(session: Session): void {
    if (this.isDraining && session.size === 0) session.end(sessionDraining());
  }
}
