import { status } from '@grpc/grpc-js';
import type { CallerUse, Callers } from '../base/callers';
import type { Reason } from '../base/errors';
import { ERROR_TABLE } from './call-errors';
import type { Arrival } from './entry/arrival';
import type { CallMeters } from './entry/call-meters';
import type { CallGateOptions } from './entry/gate';
import { isClosed, type OnRefusedHandshake, peerOf } from './entry/grpc-js';
import type { OnRefused } from './entry/intake';
import type { Access } from '../access/access';
import type { AuditedCaller, AuditLog } from '../access/audit';
import { onConnectionClosed } from '../access/client-certificates';

/** The identities of one connection that are remembered. A proxy may have more callers on one connection. */
const MAX_IDENTITIES = 1000;

/** The codes of calls that the server refuses, because of their number or their caller. */
const REFUSING: readonly status[] = [
  status.RESOURCE_EXHAUSTED,
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
];
const REFUSALS: ReadonlySet<string> = new Set(
  Object.entries(ERROR_TABLE).flatMap(([reason, { code }]) => (REFUSING.includes(code) ? [reason] : [])),
);

/** A connection, and its callers. Most connections have one. */
interface KnownConnection {
  readonly address: string;
  last: CallerUse | undefined;
  readonly callers: Map<string, CallerUse>;
}

/** A call that is refused. The identity is empty if it is not proven. */
export interface RefusedCall extends AuditedCaller {
  readonly connection: object;
}

/** Counts the calls of each caller, for the list of callers, and writes the audit lines of overload. */
export class CallerCounts {
  private readonly connections = new WeakMap<object, KnownConnection>();

  constructor(
    readonly callers: Callers,
    private readonly audit: AuditLog,
  ) {}

  /** Counts one call. @param identity empty: not proven */
  called(identity: string, connection: object): CallerUse {
    const caller = this.of(identity, connection);
    this.calledAgain(caller);
    return caller;
  }

  /** Counts one message of a stream, which is in progress, so its caller keeps its place. */
  calledAgain(caller: CallerUse): void {
    this.callers.called(caller);
  }

  /**
   * Counts the refusal of a call. Other reasons are no refusals.
   * @param counted the caller of a call that was counted
   */
  refused(call: RefusedCall, counted: CallerUse | undefined, reason: Reason): void {
    const caller = counted ?? this.called(call.identity, call.connection);
    if (!REFUSALS.has(reason)) return;
    this.callers.refused(caller, reason);
    if (reason === 'OVERLOADED') this.audit.refused(call, { outcome: 'OVERLOADED' });
  }

  /** Counts a refusal before there was a connection. */
  refusedAt(address: string, reason: Reason): void {
    const caller = this.callers.of('', address);
    this.calledAgain(caller);
    this.callers.refused(caller, reason);
  }

  /** The caller at a connection, before or after its call is counted. */
  of(identity: string, connection: object): CallerUse {
    // A closed connection has no event that would end its count.
    if (isClosed(connection)) return this.callers.of(identity, peerOf(connection).address);
    const known = this.connections.get(connection) ?? this.connect(connection);
    const { last } = known;
    if (last !== undefined && last.hasPlace && last.identity === identity) return last;
    const before = known.callers.get(identity);
    const caller = before?.hasPlace === true ? before : this.callers.of(identity, known.address);
    if (caller !== before) {
      if (before !== undefined) before.connectionCount -= 1;
      caller.connectionCount += 1;
      known.callers.set(identity, caller);
      if (known.callers.size > MAX_IDENTITIES) forgetOldest(known);
    }
    known.last = caller;
    return caller;
  }

  private connect(connection: object): KnownConnection {
    const known: KnownConnection = {
      address: peerOf(connection).address,
      last: undefined,
      callers: new Map(),
    };
    this.connections.set(connection, known);
    onConnectionClosed(connection, () => {
      for (const caller of known.callers.values()) caller.connectionCount -= 1;
      known.callers.clear();
      known.last = undefined;
    });
    return known;
  }
}

function forgetOldest({ callers }: KnownConnection): void {
  for (const [identity, caller] of callers) {
    caller.connectionCount -= 1;
    callers.delete(identity);
    return;
  }
}

/** The calls that no handler has: proves their callers for the gate, and counts those that are refused. */
export class UnbegunCalls {
  constructor(
    private readonly counts: CallerCounts,
    private readonly meters: CallMeters,
    private readonly access: Access | undefined,
  ) {}

  forGate(): Omit<CallGateOptions, 'clock'> {
    const { access, counts, meters } = this;
    return {
      onArrived: ({ kind, connection }) => {
        if (kind.hasRule !== true) counts.called('', connection);
      },
      onRefused: (call, { reason }) => {
        meters.refused(call.method, ERROR_TABLE[reason].code);
        this.refused(call, reason, false);
      },
      ...(access && {
        isProven: (call) => access.knows(call),
        prove: (call) => access.prove(call),
      }),
    };
  }

  /** `hasBegun`: the handler has counted the call. */
  readonly refusedAtIntake: OnRefused = (call, { reason }, hasBegun) => this.refused(call, reason, hasBegun);

  /** The client proves nothing, and makes no call. */
  readonly refusedHandshake: OnRefusedHandshake = (peer, problem) => {
    this.access?.refusedHandshake(peer.text, problem);
    this.counts.refusedAt(peer.address, 'BAD_CREDENTIAL');
  };

  private refused(call: Arrival, reason: Reason, hasBegun: boolean): void {
    const { access, counts } = this;
    const { hasRule = false } = call.kind;
    if (hasRule && access !== undefined) call.identity = access.identityOf(call);
    const isCounted = hasBegun || !hasRule;
    counts.refused(call, isCounted ? counts.of(call.identity, call.connection) : undefined, reason);
  }
}
