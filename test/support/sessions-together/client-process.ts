import { duration } from '../../../clients/typescript';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import { attach, lock, permits } from '../clients/session-stream';
import { RatedClock } from '../manual-clock';
import type { ModelWorld } from '../leases/model-store';
import type { AskedRequest, Beliefs, CommandRecord, Requests } from './beliefs';
import { SessionClient } from './session-client';
import type { SessionServer } from './session-server';

/** The commands of sessions that clients/session-commands.ts does not have. */

function acquireMessage({ resource, fields }: AskedRequest) {
  const { name, requestId, mode, permitCount, initialLimit, ttlMs, waitTimeoutMs } = fields;
  const waitTimeout = waitTimeoutMs === undefined ? undefined : duration(waitTimeoutMs);
  if (resource.service === 'semaphore') {
    return permits(name, { requestId, ttl: duration(ttlMs), waitTimeout, permitCount, initialLimit });
  }
  const lockMode = mode === 'shared' ? LockMode.LOCK_MODE_SHARED : LockMode.LOCK_MODE_EXCLUSIVE;
  return lock(name, { requestId, ttlMs, waitTimeout, mode: lockMode });
}

export const releaseById = (leaseId: string) =>
  ({ $case: 'release', value: { lease: { $case: 'leaseId', value: leaseId } } }) as const;

export function update(leaseNumber: number, text: string) {
  const metadataUpdate = { entries: new Map([['text', text]]) };
  return { $case: 'update', value: { leaseNumber: BigInt(leaseNumber), metadataUpdate } } as const;
}

export interface ScenarioParts {
  readonly world: ModelWorld;
  readonly requests: Requests;
  readonly beliefs: Beliefs;
  readonly violations: string[];
  /** True: commands are lost, late and sent twice. A late copy of a command may take a lease over. */
  readonly isLossy: boolean;
}

/** What becomes of a session when the client opens the next session. */
export type OldSession = 'broken' | 'stalled' | 'open';

/** One client process with its sessions. */
export class ClientProcess {
  readonly clock: RatedClock;
  readonly sessions: SessionClient[] = [];
  private step = 0;

  constructor(
    readonly name: string,
    /** A lower-case UUID. */
    readonly id: string,
    rate: number,
    readonly parts: ScenarioParts,
  ) {
    this.clock = new RatedClock(parts.world.clock, rate, 0);
  }

  get violations(): string[] {
    return this.parts.violations;
  }

  /** The id in the form in which an attach names the process. */
  get shortId(): string {
    return Buffer.from(this.id.replaceAll('-', ''), 'hex').toString('base64url');
  }

  /** The world's clock (ms). */
  now(): number {
    return this.parts.world.clock.now();
  }

  /** Orders the receipts of commands and grants. */
  next(): number {
    this.step += 1;
    return this.step;
  }

  /** The newest session for 0, else an older open session, if there is one. */
  session(age: number): SessionClient | undefined {
    const open = this.sessions.filter(({ isOver }) => !isOver);
    return open[open.length - 1 - (age % Math.max(1, open.length))];
  }

  /** Opens the next session, and asks again for the leases and requests of the session before. */
  openNext(server: SessionServer, old: OldSession): SessionClient {
    const before = this.session(0);
    if (old === 'broken') before?.break();
    if (old === 'stalled' && before) before.isStalled = true;
    const next = new SessionClient(this, server, this.sessions.length + 1);
    this.sessions.push(next);
    for (const { kind, lease, end, request, holds, isCancelled } of before?.commands.values() ?? []) {
      if (holds && lease) next.send('attach', attach(lease.leaseId), lease.request);
      if (kind === 'acquire' && end === undefined && request && !isCancelled) this.acquire(next, request);
    }
    return next;
  }

  acquire(session: SessionClient, request: AskedRequest): CommandRecord {
    return session.send('acquire', acquireMessage(request), request);
  }

  /** Expects that no command of a later session, or later command of the session, had the lease when this command came. */
  expectNotTakenBack(late: CommandRecord): void {
    const { request } = late;
    // After a call of another client, the store no longer knows which session came last.
    if (request === undefined || request.askers.size > 1) return;
    const all = this.sessions.flatMap(({ commands }) => [...commands.values()]);
    const later = all.find(
      (command) =>
        command.lease === late.lease &&
        command.isAfter(late) &&
        (command.grantedAt ?? Infinity) < (late.receivedAt ?? -Infinity),
    );
    if (later) late.report(`took the lease back from command ${later.id} of session ${later.session.name}`);
  }
}
