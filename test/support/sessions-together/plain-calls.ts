import { expireOffsetMs, type Lease, type LeaseEnd } from '../../../src/leases/lease';
import type { Pending } from '../engine-fixture';
import type { AskedRequest, KnownLease } from './asked-request';
import type { Belief } from './beliefs';
import type { ScenarioParts } from './client-process';
import type { SessionServer } from './session-server';
import { expectSuperseded } from './speaker';

interface PlainCall {
  readonly pending: Pending<unknown>;
  readonly request: AskedRequest;
  /** The receipt of the call (ms, world's clock). */
  readonly receivedAt: number;
  /** The attach value of a stream. Undefined: a unary call, or the caller was told the end. */
  attach: string | undefined;
  belief: Belief | undefined;
  /** The events of the stream that the client has read. */
  readCount: number;
}

/** Unary calls and hold streams, beside the sessions. Their clients read the answers after each step. */
export class PlainCalls {
  private readonly calls: PlainCall[] = [];

  constructor(
    private readonly parts: ScenarioParts,
    /** The rate of the clients' clocks. */
    private readonly rate: number,
  ) {}

  acquire(server: SessionServer, request: AskedRequest): void {
    const { resource, fields } = request;
    this.add(server.engine.acquire(fields, {}, resource.service), request);
  }

  hold(server: SessionServer, request: AskedRequest): void {
    const { resource, fields } = request;
    this.add(server.engine.hold(fields, {}, resource.service), request, server.lastAttach);
  }

  attach(server: SessionServer, { leaseId, request }: KnownLease): void {
    this.add(server.engine.attach(leaseId, {}, request.resource.service), request, server.lastAttach);
  }

  renew(server: SessionServer, { leaseId, request, token }: KnownLease): void {
    const call = server.call();
    const receivedAt = this.parts.world.clock.now();
    const renewal = { ttlMs: undefined, metadata: { text: 'renewed' } };
    server.engine.permits.renew(call, request.resource.service, leaseId, renewal).then(
      ({ end }) => {
        const belief = this.parts.beliefs.begin(request.resource, token);
        this.tell(belief, receivedAt, call.receivedAt, end);
      },
      () => undefined,
    );
  }

  release(server: SessionServer, lease: KnownLease): void {
    const { leaseId, request } = lease;
    this.parts.beliefs.letGo(lease);
    server.engine.permits.release(server.call(), request.resource.service, leaseId).catch(() => undefined);
  }

  cancel(pick: number): void {
    this.calls[pick % Math.max(1, this.calls.length)]?.pending.call.cancel();
  }

  cancelAll(): void {
    for (const { pending } of this.calls) pending.call.cancel();
  }

  /** The clients read all that was answered. */
  read(): void {
    for (const call of this.calls) {
      const { pending } = call;
      if (pending.over && call.attach !== undefined) {
        if (pending.outcome === 'SUPERSEDED') expectSuperseded(this.parts, call.request, call.attach);
        call.attach = undefined;
      }
      if (pending.outcome === 'DEFECT') this.parts.violations.push(`a call failed: ${String(pending.error)}`);
      const lease = pending.result as Lease | undefined;
      if (lease !== undefined && call.belief === undefined) this.granted(call, lease);
      for (const event of pending.sink.events.slice(call.readCount)) {
        if (event.kind === 'granted') this.granted(call, event.lease);
        if (event.kind === 'renewed' || event.kind === 'renewal-failed') this.renewed(call, event.end);
        if (event.kind === 'lost' && event.cause !== 'revoked' && call.belief) call.belief.isOver = true;
      }
      call.readCount = pending.sink.events.length;
    }
  }

  private add(pending: Pending<unknown>, request: AskedRequest, attach?: string): void {
    request.askers.add('other');
    const receivedAt = this.parts.world.clock.now();
    this.calls.push({ pending, request, receivedAt, attach, belief: undefined, readCount: 0 });
  }

  private granted(call: PlainCall, lease: Lease): void {
    const { requests, beliefs } = this.parts;
    requests.granted(lease.leaseId, lease.fencingToken, call.request);
    call.belief = beliefs.begin(call.request.resource, lease.fencingToken);
    this.renewed(call, lease.end);
  }

  private renewed({ belief, receivedAt, pending }: PlainCall, end: LeaseEnd): void {
    if (belief) this.tell(belief, receivedAt, pending.call.receivedAt, end);
  }

  private tell(belief: Belief, receivedAt: number, serverReceivedAt: number, end: LeaseEnd): void {
    const offsetMs = Math.floor(expireOffsetMs(serverReceivedAt, end));
    this.parts.beliefs.tell(belief, receivedAt + offsetMs / this.rate);
  }
}
