import {
  SessionEndCause,
  type CommandFailed,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { lockRequest, permitsRequest } from '../../support/clients/lease-client';
import type { Micros } from '../../support/history';
import type { Recorder } from '../../support/history-recorder';
import type { Random } from '../../support/random';
import type { Held } from '../held';
import type { HeartbeatGate } from './heartbeat-gate';
import { LeaseBook } from './lease-book';
import { LeaseCommand, type LeaseCommandOwner } from './lease-command';
import type { Told } from './link-command';
import { Releases } from './releases';
import { SendWindow } from './send-window';
import { SessionLease } from './session-lease';
import type { SessionLink } from './session-link';
import { SessionLinks } from './session-links';
import { SessionRecord, type SessionWanted } from './session-record';
import { SessionRequest } from './session-request';
import { UpdateCommand } from './short-commands';

export interface SessionClientOptions {
  /** The name of the client in the history. */
  readonly client: string;
  readonly addresses: readonly string[];
  /** The index of the first server. */
  readonly startAt: number;
  readonly recorder: Recorder;
  readonly gate: HeartbeatGate;
  readonly random: Random;
}

/** How often deadlines are compared with the clock (ms). */
const SWEEP_MS = 20;
const RETRY_MS = 100;

/**
 * A strict client of sessions, by the rules of docs/api/sessions.md, with its history. Not the product's client, so that
 * the two do not share a mistake.
 */
export class SessionClient implements LeaseCommandOwner {
  readonly record: SessionRecord;
  private readonly links: SessionLinks;
  private readonly book = new LeaseBook();
  /** The requests without an outcome. */
  private readonly requests = new Set<SessionRequest>();
  private readonly releases: Releases;
  private readonly window = new SendWindow();
  private readonly sweep: NodeJS.Timeout;
  private shortestTtlUs: Micros = Infinity;

  constructor({ client, recorder, ...rest }: SessionClientOptions) {
    this.record = new SessionRecord(client, recorder);
    this.links = new SessionLinks({
      ...rest,
      record: this.record,
      shortestTtlUs: () => this.shortestTtlUs,
      nearestDeadline: () => this.book.nearestDeadline(),
      opened: (link) => this.opened(link),
    });
    this.releases = new Releases(this.record, () => this.links.current);
    this.sweep = setInterval(() => this.look(), SWEEP_MS);
    this.links.open();
  }

  /** Requests a lease, in whichever session is open. */
  acquire(wanted: SessionWanted): SessionRequest {
    const request = new SessionRequest(wanted);
    this.requests.add(request);
    this.shortestTtlUs = Math.min(this.shortestTtlUs, wanted.ttlMs * 1000);
    const { current } = this.links;
    if (current !== undefined) this.window.add(() => this.sendAcquire(current, request));
    return request;
  }

  /** Asks for the end of a wait. Its answer may still be a grant, which is released. */
  cancel(request: SessionRequest): void {
    if (request.isSettled || request.isCancelled) return;
    request.isCancelled = true;
    const { command } = request;
    const { current } = this.links;
    if (command === undefined || command.isFinished || command.linkNumber !== current?.number)
      return this.refuse(request);
    this.record.write({ type: 'cancelled', ...this.record.ofCall(command.call) });
    current.run({ $case: 'cancel', value: { commandId: BigInt(command.id) } }, undefined);
  }

  /** Stops the work, and releases the lease. Resolves with the answer. */
  async release(lease: SessionLease): Promise<void> {
    lease.letGo('release');
    this.book.retire(lease);
    await this.releases.release(lease);
  }

  /**
   * Opens the next session while the session before still works, and asks there for all leases and requests.
   * @param stays true: at the same server, which then has two sessions of this client
   */
  move(stays: boolean): void {
    this.links.open(stays);
  }

  /** Attaches again in the current session. The command before ends with SUPERSEDED. */
  attachAgain(lease: SessionLease): void {
    const { current } = this.links;
    if (current !== undefined) this.sendAttach(current, lease);
  }

  /** Attaches in an older session, as a slow server reads late commands. The contract demands SUPERSEDED. */
  attachLate(mostLeases: number): void {
    const { lastOlder } = this.links;
    if (lastOlder === undefined) return;
    const moved = this.book.held().filter(({ speaker }) => speaker.linkNumber > lastOlder.number);
    for (const lease of moved.slice(0, mostLeases)) this.sendAttach(lastOlder, lease);
  }

  /** Replaces the metadata of a lease of the current session. Resolves with the answer. */
  async update(lease: SessionLease, metadata: ReadonlyMap<string, string>): Promise<void> {
    const { current } = this.links;
    const { speaker } = lease;
    const isHere = speaker.linkNumber === current?.number && speaker.lease !== undefined;
    if (current === undefined || !isHere || lease.over !== undefined) return;
    await new Promise<void>((resolve) => {
      const command = new UpdateCommand(this.record, lease.held.hash, () => resolve());
      const metadataUpdate = { entries: new Map(metadata) };
      current.run({ $case: 'update', value: { leaseNumber: BigInt(speaker.id), metadataUpdate } }, command);
    });
  }

  /** Releases all leases, cancels all waits, waits for the answers, and closes the sessions. */
  async close(withinMs: number): Promise<void> {
    for (const request of [...this.requests]) this.cancel(request);
    for (const lease of this.book.held()) void this.release(lease);
    const until = performance.now() + withinMs;
    while (this.requests.size + this.releases.size > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, SWEEP_MS));
    clearInterval(this.sweep);
    this.releases.close();
    this.links.closeAll();
  }

  known(hash: string): SessionLease | undefined {
    return this.book.find(hash);
  }

  granted(command: LeaseCommand, held: Held, told: Told): SessionLease {
    const { request } = command.subject;
    this.window.answered(command);
    const lease = this.book.find(held.hash) ?? this.newLease(command, held);
    lease.checkDeadline(told.at);
    lease.join(command);
    lease.confirmed(held.expireOffsetUs, held.ttlUs, told);
    if (isLater(command, lease.speaker)) lease.speaker = command;
    if (lease.over !== undefined || request?.isCancelled === true) void this.release(lease);
    if (request !== undefined && !request.isSettled) {
      this.requests.delete(request);
      request.lease = lease;
      if (lease.over === undefined) request.granted(lease);
      else request.refuse('CANCELLED');
    }
    return lease;
  }

  queued(command: LeaseCommand): void {
    this.window.answered(command);
  }

  ended(command: LeaseCommand, lease: SessionLease, cause: SessionEndCause): void {
    if (lease.speaker !== command || lease.over !== undefined) return;
    const isRevoked = cause === SessionEndCause.SESSION_END_CAUSE_REVOKED;
    lease.end(isRevoked ? 'revoked' : 'lost', command);
    this.book.retire(lease);
    if (isRevoked) void this.releases.release(lease);
  }

  failed(command: LeaseCommand, failure: CommandFailed): void {
    const { request, lease = request?.lease } = command.subject;
    this.window.answered(command);
    if (request !== undefined) this.acquireFailed(command, request, failure);
    if (lease !== undefined) this.attachFailed(command, lease, failure);
  }

  cancelled(command: LeaseCommand): void {
    this.window.answered(command);
    const { request } = command.subject;
    if (request !== undefined) this.refuse(request);
  }

  linkEnded(command: LeaseCommand): void {
    this.window.answered(command);
    const { request } = command.subject;
    if (request?.isCancelled === true) this.refuse(request);
  }

  private newLease(command: LeaseCommand, held: Held): SessionLease {
    const speaker = command.subject.request?.command ?? command;
    const lease = new SessionLease(held, speaker, this.record);
    this.book.add(lease);
    return lease;
  }

  private refuse(request: SessionRequest): void {
    this.requests.delete(request);
    if (!request.isSettled) request.refuse('CANCELLED');
  }

  private acquireFailed(command: LeaseCommand, request: SessionRequest, failure: CommandFailed): void {
    // A newer session repeats the request.
    if (request.isSettled || request.command !== command) return;
    const pauseMs = request.pauseAfter(failure);
    if (pauseMs === undefined) return this.refuse(request);
    setTimeout(() => {
      const { current } = this.links;
      if (request.command === command && current !== undefined) this.sendAcquire(current, request);
    }, pauseMs);
  }

  private attachFailed(command: LeaseCommand, lease: SessionLease, { reasonText }: CommandFailed): void {
    if (lease.over !== undefined) return;
    if (reasonText === 'LEASE_NOT_HELD' || (reasonText === 'SUPERSEDED' && lease.speaker === command)) {
      lease.end('lost', command);
      this.book.retire(lease);
      return;
    }
    setTimeout(() => {
      const { current } = this.links;
      if (lease.speaker === command && lease.over === undefined && current !== undefined)
        this.sendAttach(current, lease);
    }, RETRY_MS);
  }

  /** Asks in a new session for all leases and requests, the earliest deadlines first. */
  private opened(link: SessionLink): void {
    this.look();
    this.window.clear();
    for (const lease of this.book.held()) this.window.add(() => this.sendAttach(link, lease));
    for (const request of this.requests) this.window.add(() => this.sendAcquire(link, request));
    this.releases.opened();
  }

  private sendAttach(link: SessionLink, lease: SessionLease): LeaseCommand | undefined {
    if (lease.over !== undefined || link.isOver) return undefined;
    const { held } = lease;
    const call = this.record.attachAsked(link.session, held);
    const command = new LeaseCommand(this, call, link.number, { lease });
    command.id = link.run({ $case: 'attach', value: { leaseId: held.leaseId } }, command);
    if (isLater(command, lease.speaker)) lease.speaker = command;
    return command;
  }

  private sendAcquire(link: SessionLink, request: SessionRequest): LeaseCommand | undefined {
    if (request.isSettled || request.isCancelled || link.isOver) return undefined;
    const { wanted } = request;
    const { service, ...fields } = wanted;
    const call = this.record.acquireAsked(link.session, wanted);
    const command = new LeaseCommand(this, call, link.number, { request });
    request.command = command;
    command.id = link.run(
      service === 'lock'
        ? { $case: 'acquireLock', value: lockRequest(fields) }
        : { $case: 'acquirePermits', value: permitsRequest(fields) },
      command,
    );
    return command;
  }

  /** Compares all deadlines with the clock. Releases each lease after its deadline, because the server may still renew the lease. */
  private look(): void {
    const now = this.record.now();
    for (const lease of this.book.held()) {
      if (lease.deadline > now) break;
      lease.checkDeadline(now);
    }
    for (const lease of this.book.held()) if (lease.over !== undefined) void this.release(lease);
    const ofRequests = [...this.requests].map(({ wanted }) => wanted.ttlMs * 1000);
    this.shortestTtlUs = Math.min(this.book.shortestTtlUs(), ...ofRequests);
    this.links.closeMoved();
  }
}

/** True if the server that has read both commands lets the first one have the lease. */
function isLater(one: LeaseCommand, other: LeaseCommand): boolean {
  return one.linkNumber > other.linkNumber || (one.linkNumber === other.linkNumber && one.id > other.id);
}
