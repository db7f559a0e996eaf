import type { Wanted } from './resource';
import type { Records } from './records';
import type { Holding } from './resource';

/** A grant may be under way while the client opens its next session. */
const UNDER_WAY_MS = 1000;
/** The client computes deadlines from its own times, which differ from the server's by the time on the way. */
const ORDER_TOLERANCE_MS = 250;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

interface Process {
  sessionNumber: number;
  readonly connections: Set<number>;
  readonly requests: Map<string, string>;
  /** The leases for which a release was received, and from which session on. */
  readonly released: Map<string, number>;
  readonly superseded: Set<string>;
}

/** What one session has sent so far. */
export interface SessionHistory {
  readonly clientId: string;
  readonly number: number;
  readonly openedAt: number;
  heartbeatId: number;
  commandId: bigint;
  newRequest: string | undefined;
  lastAttachUntil: number;
  readonly attached: Set<string>;
}

/** The rules that every session of every client keeps. A broken rule fails the case. */
export class SessionChecks {
  private readonly processes = new Map<string, Process>();
  private readonly callConnections = new Set<number>();

  constructor(private readonly records: Records) {}

  start(clientId: string, number: number, heartbeatId: number, connection: number): SessionHistory {
    const known = this.processOf(clientId);
    if (!UUID.test(clientId)) this.records.violation(`client_id "${clientId}" is no UUID of version 4 or 7`);
    if (number <= known.sessionNumber) this.records.violation(`session_number ${number} does not rise`);
    if (heartbeatId !== 1) this.records.violation(`the first heartbeat has the id ${heartbeatId}`);
    if (known.connections.has(connection) || this.callConnections.has(connection)) {
      this.records.violation(`session ${number} has no connection of its own`);
    }
    known.sessionNumber = Math.max(known.sessionNumber, number);
    known.connections.add(connection);
    return {
      ...{ clientId, number, openedAt: performance.now(), heartbeatId, commandId: 0n, newRequest: undefined },
      ...{ lastAttachUntil: -Infinity, attached: new Set<string>() },
    };
  }

  call(connection: number): void {
    this.callConnections.add(connection);
    for (const { connections } of this.processes.values()) {
      if (connections.has(connection)) this.records.violation('a call uses the connection of a session');
    }
  }

  heartbeat(history: SessionHistory, id: number): void {
    if (id <= history.heartbeatId) this.records.violation(`heartbeat ${id} does not rise`);
    history.heartbeatId = id;
  }

  command(history: SessionHistory, id: bigint): void {
    if (id <= history.commandId) this.records.violation(`command ${id} does not rise`);
    history.commandId = id;
  }

  acquire(history: SessionHistory, wanted: Wanted): void {
    const { requestId, name, kind, ttlMs, shared, permits, limit, holderId, metadata } = wanted;
    const { requests } = this.processOf(history.clientId);
    if (!UUID.test(requestId)) this.records.violation(`request_id "${requestId}" of ${name} is no UUID`);
    const fields = JSON.stringify([
      name,
      kind,
      ttlMs,
      shared,
      permits,
      limit,
      holderId,
      [...metadata].sort(),
    ]);
    const before = requests.get(requestId);
    if (before === undefined) history.newRequest = name;
    else if (before !== fields)
      this.records.violation(`the request_id of ${name} was repeated with other fields`);
    requests.set(requestId, fields);
  }

  attach(history: SessionHistory, leaseId: string, held: Holding | undefined): void {
    const { released, superseded } = this.processOf(history.clientId);
    const name = held?.wanted.name ?? 'an unknown lease';
    const releasedIn = released.get(leaseId);
    if (releasedIn !== undefined && releasedIn <= history.number) {
      this.records.violation(`an attach to ${name} follows its release`);
    }
    if (superseded.has(leaseId)) this.records.violation(`an attach to ${name} follows SUPERSEDED`);
    if (history.attached.has(leaseId)) return;
    history.attached.add(leaseId);
    if (!held || held.toldAt > history.openedAt - UNDER_WAY_MS) return;
    if (history.newRequest !== undefined) {
      this.records.violation(`the new acquire of ${history.newRequest} came before the attach to ${name}`);
    }
    if (held.believableUntil < history.lastAttachUntil - ORDER_TOLERANCE_MS) {
      this.records.violation(`the attach to ${name} came after the attach to a lease with a later deadline`);
    }
    history.lastAttachUntil = Math.max(history.lastAttachUntil, held.believableUntil);
  }

  release(history: SessionHistory, leaseId: string): void {
    const { released } = this.processOf(history.clientId);
    if (!released.has(leaseId)) released.set(leaseId, history.number);
  }

  /** A stranger has the lease now. */
  superseded(clientId: string, leaseId: string): void {
    this.processOf(clientId).superseded.add(leaseId);
  }

  private processOf(clientId: string): Process {
    const known = this.processes.get(clientId) ?? {
      ...{ sessionNumber: 0, connections: new Set<number>(), requests: new Map<string, string>() },
      ...{ released: new Map<string, number>(), superseded: new Set<string>() },
    };
    this.processes.set(clientId, known);
    return known;
  }
}
