import type { Call } from '../../base/call';
import type { HoldfastError } from '../../base/errors';
import type { Runtime } from '../../base/runtime';
import { draining, sessionDraining, sessionTooOld, tooManySessions } from '../lease-errors';
import type { SessionLeases } from '../life';
import { Session } from './session';
import type { SessionLimits, SessionSink, SessionStart } from './session-requests';

export interface SessionsOptions {
  readonly runtime: Runtime;
  readonly engine: SessionLeases;
  readonly limits: SessionLimits;
}

/**
 * A client that is asked to leave gets a random delay below this time (ms), so that the clients do not all connect at
 * the same time.
 */
const LEAVING_MS = 1000;
/** The time in which clients may move the leases of a connection that has reached its maximum age (ms). */
const AGE_GRACE_MS = 30_000;

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
    const { runtime, engine, limits } = this.options;
    if (this.isDraining) throw draining();
    if (this.open.size >= limits.maxSessions) throw tooManySessions(limits.maxSessions);
    stream.account?.openSession(start.clientId);
    const session = new Session({ runtime, engine, limits, stream, start, sink });
    this.open.add(session);
    const forget = (): void => {
      this.open.delete(session);
      stream.account?.closeSession(start.clientId);
      if (this.open.size === 0) this.onIdle?.();
    };
    session.done.then(forget, forget);
    return session;
  }

  /** Asks the clients of a connection that has reached its maximum age to open their next sessions on another connection. */
  leaveConnection(connection: object): void {
    for (const session of [...this.open]) {
      if (session.isLeaving || session.stream.connection !== connection) continue;
      this.askToLeave(session, AGE_GRACE_MS, sessionTooOld());
    }
  }

  /**
   * Asks all clients to open their next sessions elsewhere. Each session ends when its leases are attached elsewhere, and at
   * the latest after `withinMs`. Resolves when all sessions have ended.
   */
  async drain(withinMs: number): Promise<void> {
    this.isDraining = true;
    for (const session of [...this.open]) this.askToLeave(session, withinMs, sessionDraining());
    if (this.open.size > 0) await new Promise<void>((resolve) => (this.onIdle = resolve));
  }

  private askToLeave(session: Session, withinMs: number, error: HoldfastError): void {
    const retryDelayMs = this.options.runtime.identities.random() * Math.min(LEAVING_MS, withinMs / 4);
    session.leave({ retryDelayMs, withinMs, error });
  }
}
