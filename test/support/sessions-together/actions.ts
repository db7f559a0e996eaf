import fc from 'fast-check';
import { expireOffsetMs, type Lease, type LeaseEnd } from '../../../src/leases/lease';
import { attach, cancel, release } from '../clients/session-stream';
import type { Pending } from '../leases/engine-fixture';
import type { CommandOutcome } from '../leases/model-store';
import {
  type AskedRequest,
  type Belief,
  type CommandRecord,
  type KnownLease,
  newestFirst,
  type RequestChoice,
  expectSuperseded,
} from './beliefs';
import {
  type ClientProcess,
  type OldSession,
  releaseById,
  type ScenarioParts,
  update,
} from './client-process';
import type { SessionClient } from './session-client';
import type { SessionServer } from './session-server';

/** A server, a process, and an element of a list: the newest for 0. */
const on = fc.nat(2);
const who = fc.nat(1);
const pick = fc.oneof(fc.nat(2), fc.nat(20));
/** Which open session of a process: mostly the newest. */
const age = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) });
/** What becomes of the session before. */
const old = fc.constantFrom<OldSession[]>('broken', 'stalled', 'stalled', 'open');
const request = {
  resource: fc.nat(2),
  isSmall: fc.boolean(),
  hasShortTtl: fc.boolean(),
  waits: fc.constantFrom<RequestChoice['waits'][]>('not', 'for a time', 'until cancelled'),
  freshness: fc.nat(4),
  pick,
};

type Arbitraries<Fields> = { readonly [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> };

function kind<Kind extends string, Fields extends object>(
  weight: number,
  name: Kind,
  fields: Arbitraries<Fields>,
) {
  const all = { kind: fc.constant(name), ...fields } as Arbitraries<{ readonly kind: Kind } & Fields>;
  return { weight, arbitrary: fc.record<{ readonly kind: Kind } & Fields>(all) };
}

/** One step of a history of sessions, unary calls and hold streams. */
export const anAction = fc.oneof(
  kind(6, 'acquire', { who, age, ...request }),
  kind(3, 'attach', { who, age, pick }),
  kind(3, 'release', { who, age, pick, byId: fc.boolean() }),
  kind(1, 'update', { who, age, pick }),
  kind(2, 'cancel', { who, age, pick }),
  kind(4, 'next', { who, on, old, attaches: fc.boolean() }),
  kind(2, 'flow', { who, age: fc.nat(3) }),
  kind(2, 'silence', { who, age, isSilent: fc.boolean() }),
  kind(1, 'stall', { who, age }),
  kind(1, 'stop-reading', { who, age }),
  kind(1, 'break', { who, age }),
  kind(2, 'plain-acquire', { on, ...request }),
  kind(2, 'hold', { on, ...request }),
  kind(1, 'hold-attach', { on, pick }),
  kind(1, 'plain-renew', { on, pick }),
  kind(2, 'plain-release', { on, pick }),
  kind(1, 'plain-cancel', { pick }),
  kind(1, 'revoke', { on, resource: fc.nat(2) }),
  kind(7, 'pass', { ms: fc.constantFrom(1, 30, 300, 700, 1600, 3500) }),
  kind(1, 'jump', { ms: fc.constantFrom(300, 1600, 5000) }),
);
export type Action = typeof anAction extends fc.Arbitrary<infer Drawn> ? Drawn : never;

export const outcomes = fc.infiniteStream(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<CommandOutcome>('answered') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('reply-lost') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('not-arrived') },
    { weight: 1, arbitrary: fc.constant<CommandOutcome>('sent-twice') },
    { weight: 1, arbitrary: fc.constantFrom<CommandOutcome[]>('runs-late', 'copy-runs-late') },
  ),
);

/** The time that a reply needs on its way (ms). Replies of one server overtake each other. */
export const replyTimes = fc.infiniteStream(fc.constantFrom(0, 0, 1, 4, 20, 60));

/** The greatest difference of two clock rates is 2 × 245 ppm, below the 500 ppm that the offsets allow for. */
export const rate = fc.constantFrom(1 - 0.000245, 1, 1 + 0.000245);

type InSession = Extract<Action, { readonly who: number }>;

/** Does one step of a client process. Without an open session only `next` does something. */
export function actInSession(
  process: ClientProcess,
  action: InSession,
  serverOf: (index: number) => SessionServer,
): void {
  if (action.kind === 'next') {
    // The attach waits in the old session, and comes after the attaches of the next session.
    const before = process.session(0);
    if (before && action.old === 'stalled') before.isStalled = true;
    if (action.attaches && before) attachAgain(before, 0);
    process.openNext(serverOf(action.on), action.old);
    return;
  }
  const session = process.session(action.age);
  if (session !== undefined) actOn(session, action);
}

function actOn(session: SessionClient, action: Exclude<InSession, { readonly kind: 'next' }>): void {
  const { process } = session;
  const { requests } = process.parts;
  switch (action.kind) {
    case 'acquire':
      process.acquire(session, requests.choose(action));
      return;
    case 'attach': {
      const lease = requests.lease(action.pick);
      if (lease) session.send('attach', attach(lease.leaseId), lease.request);
      return;
    }
    case 'release':
      return releaseOne(session, action.pick, action.byId);
    case 'update': {
      const command = newestFirst(session.held, action.pick);
      if (command) session.send('update', update(command.id, 'updated'));
      return;
    }
    case 'cancel':
      return cancelOne(session, action.pick);
    case 'flow':
      session.read();
      return session.flow();
    case 'silence':
      session.isSilent = action.isSilent;
      return;
    case 'stall':
      session.isStalled = true;
      return;
    case 'stop-reading':
      return session.stopReading();
    case 'break':
      return session.break();
  }
}

function attachAgain(session: SessionClient, pick: number): void {
  const lease = newestFirst(session.held, pick)?.lease;
  if (lease) session.send('attach', attach(lease.leaseId), lease.request);
}

/** Releases a lease of the session by its number, or any lease by its id. */
function releaseOne(session: SessionClient, pick: number, byId: boolean): void {
  const { beliefs, requests } = session.process.parts;
  const command = byId ? undefined : newestFirst(session.held, pick);
  const lease = command?.lease ?? requests.lease(pick);
  if (lease === undefined) return;
  beliefs.letGo(lease);
  session.send('release', command ? release(command.id) : releaseById(lease.leaseId), lease.request);
}

function cancelOne(session: SessionClient, pick: number): void {
  const acquires = [...session.commands.values()].filter(({ kind }) => kind === 'acquire');
  const command = newestFirst(acquires, pick);
  if (command) cancelAcquire(session, command);
}

export function cancelAcquire(session: SessionClient, command: CommandRecord): void {
  command.isCancelled = true;
  session.send('cancel', cancel(command.id));
}

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
