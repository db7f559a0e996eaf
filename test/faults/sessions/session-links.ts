import { randomUUID } from 'node:crypto';
import type { Ending } from '../../support/clients/calls';
import type { Micros } from '../../support/history';
import { between, type Random } from '../../support/random';
import type { HeartbeatGate } from './heartbeat-gate';
import { SessionLink, type LinkOwner } from './session-link';
import type { SessionRecord } from './session-record';

export interface LinksOptions {
  readonly addresses: readonly string[];
  /** The index of the first server. */
  readonly startAt: number;
  readonly gate: HeartbeatGate;
  readonly random: Random;
  readonly record: SessionRecord;
  /** The shortest ttl of all leases and requests. Infinity without any. */
  readonly shortestTtlUs: () => Micros;
  /** The earliest deadline of a lease. Infinity without leases. */
  readonly nearestDeadline: () => Micros;
  /** A session has been opened. The client asks for its leases there. */
  readonly opened: (link: SessionLink) => void;
}

const LONGEST_JITTER_MS = 1000;
/** A pause, so that a client without a server does not open sessions without end. */
const SHORTEST_PAUSE_MS = 20;
/** An older session stays open for this time, so that late commands reach it. */
const LINGER_MS = 1000;
/** The time within which all leases of an older session must have moved. */
const MOVED_WITHIN_MS = 10_000;

type Closing = Pick<Ending, 'code' | 'reason'>;

/** The sessions of one client: the current session, and the sessions that the client is leaving. */
export class SessionLinks implements LinkOwner {
  current: SessionLink | undefined;
  private readonly clientId = randomUUID();
  /** The older sessions, with the time at which the client left each of them. */
  private readonly older = new Map<SessionLink, Micros>();
  private openCount = 0;
  private serverCount = 0;
  private isClosed = false;
  private pause: NodeJS.Timeout | undefined;

  constructor(private readonly options: LinksOptions) {}

  /**
   * Opens the next session, at the next server unless `stays`. The session before keeps its leases until they have moved.
   */
  open(stays = false): void {
    const { addresses, startAt, gate, record, shortestTtlUs, opened } = this.options;
    if (this.isClosed) return;
    clearTimeout(this.pause);
    if (this.current !== undefined) this.leave(this.current);
    if (!stays) this.serverCount += 1;
    const address = addresses[(startAt + this.serverCount) % addresses.length] ?? '';
    this.openCount += 1;
    const start = {
      clientId: this.clientId,
      sessionNumber: BigInt(this.openCount),
      holderId: record.client,
      metadata: new Map<string, string>(),
    };
    const link = new SessionLink({ address, start, gate, shortestTtlUs }, this);
    this.current = link;
    const { session, number } = link;
    record.write({ type: 'session_opened', client: record.client, session, number });
    opened(link);
  }

  /** The older session with the greatest number, while it is open. */
  get lastOlder(): SessionLink | undefined {
    return [...this.older.keys()].at(-1);
  }

  closeMoved(): void {
    const before = this.options.record.now() - LINGER_MS * 1000;
    for (const [link, leftAt] of this.older) if (!link.isBusy && leftAt < before) this.close(link);
  }

  closeAll(): void {
    this.isClosed = true;
    clearTimeout(this.pause);
    for (const link of [...this.older.keys(), ...(this.current === undefined ? [] : [this.current])])
      this.close(link);
  }

  started(): void {
    // The bounds matter only to the link.
  }

  leaving(link: SessionLink, retryDelayMs: number): void {
    setTimeout(() => {
      if (this.current === link) this.open();
    }, retryDelayMs);
  }

  unanswered(link: SessionLink): void {
    this.close(link);
  }

  ended(link: SessionLink, ending: Ending): void {
    this.over(link, ending);
  }

  broken(link: SessionLink, what: string): void {
    const { record } = this.options;
    record.write({ type: 'contract_broken', client: record.client, what: `${link.session}: ${what}` });
    this.close(link);
  }

  private leave(link: SessionLink): void {
    this.older.set(link, this.options.record.now());
    setTimeout(() => {
      if (!link.isOver) this.close(link);
    }, MOVED_WITHIN_MS);
  }

  private close(link: SessionLink): void {
    if (link.isOver) return;
    link.close();
    this.over(link, { code: 'CANCELLED', reason: undefined });
  }

  private over(link: SessionLink, { code, reason }: Closing): void {
    const { record } = this.options;
    const isCurrent = this.current === link;
    this.older.delete(link);
    if (isCurrent) this.current = undefined;
    const { session } = link;
    record.write({ type: 'session_ended', client: record.client, session, code, reason: reason ?? null });
    for (const command of link.takeOpen()) command.linkEnded({ code, reason });
    if (isCurrent) this.openAfterBreak();
  }

  private openAfterBreak(): void {
    const { random, nearestDeadline, record } = this.options;
    if (this.isClosed) return;
    const leftMs = Math.max(0, (nearestDeadline() - record.now()) / 1000);
    const jitterMs = between(random, 0, Math.floor(Math.min(LONGEST_JITTER_MS, leftMs / 10)));
    this.pause = setTimeout(() => this.open(), SHORTEST_PAUSE_MS + jitterMs);
  }
}
