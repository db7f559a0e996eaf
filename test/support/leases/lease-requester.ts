import { randomBytes, randomUUID } from 'node:crypto';
import { LOCK_LIMIT, type Mode, type Resource } from '../../../src/leases/lease';
import { storedRequestId } from '../../../src/leases/lease-id';
import type {
  AcquireReply,
  ClaimReply,
  LeaseStore,
  LeaseToRenew,
  LeaseWanted,
  ReleaseReply,
  RenewReply,
  TouchReply,
  WithdrawReply,
} from '../../../src/leases/lease-store';
import { is } from '../reply-kinds';

export interface RequesterOptions {
  /** The request id that the client sends. */
  readonly requestId?: string;
  /** The identity of the client. Default: none. */
  readonly identity?: string;
  readonly permits?: number;
  readonly mode?: Mode;
  readonly holderId?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly ttlMs?: number;
  readonly initialLimit?: number | undefined;
  readonly maxWaiters?: number;
  /** True for a stream's call, and false for a unary call. */
  readonly stream?: boolean;
  /** The session of a stream's call, as "<client process>/<session number>.<command id>". Default: a stream of its own. */
  readonly session?: string;
}

interface SpeakingServer {
  readonly id: string;
  readonly store: LeaseStore;
}

/**
 * A server that makes room offers the permits to its own waiters with such a ttl, as to waiters of other servers. It grants
 * the permits directly to its waiters with a shorter ttl.
 */
export const OFFERED_TTL_MS = 120_001;

let calls = 0;

/** A new attach for each call. Scripts read the server id, the session, and the final "s", which marks a stream. */
export function newAttach(serverId: string, stream = false, session = ''): string {
  calls += 1;
  return `${serverId}.${calls}${session && `/${session}`}${stream ? 's' : ''}`;
}

/** One call of one server for one request, with the commands of the call. */
export class Requester {
  /** The id under which the store keeps the request. */
  readonly requestId: string;
  readonly clientRequestId: string;
  readonly identity: string;
  readonly attach: string;
  readonly secret = randomBytes(16).toString('base64url');
  /** The ticket of the last reply. '0' before the first reply. */
  ticket = '0';
  /** The token of the last grant to this call. */
  token: bigint | undefined;
  private readonly stream: boolean;

  constructor(
    readonly server: SpeakingServer,
    readonly resource: Resource,
    readonly options: RequesterOptions = {},
  ) {
    this.clientRequestId = options.requestId ?? randomUUID();
    this.identity = options.identity ?? '';
    this.requestId = storedRequestId(this.identity, this.clientRequestId);
    this.stream = options.stream ?? options.session !== undefined;
    this.attach = newAttach(server.id, this.stream, options.session);
  }

  get wanted(): LeaseWanted {
    const { requestId, clientRequestId, identity, attach, secret, options, resource } = this;
    const lock = resource.service === 'lock';
    const mode = options.mode ?? 'exclusive';
    return {
      requestId,
      clientRequestId,
      identity,
      attach,
      secret,
      permits: options.permits ?? (lock && mode === 'exclusive' ? LOCK_LIMIT : 1),
      mode,
      holderId: options.holderId ?? '',
      metadata: options.metadata ?? {},
      ttlMs: options.ttlMs ?? 30_000,
      initialLimit: 'initialLimit' in options ? options.initialLimit : lock ? LOCK_LIMIT : undefined,
    };
  }

  /** An acquire that does not wait. */
  try(): Promise<AcquireReply> {
    return this.acquire(false);
  }

  /** An acquire that waits. */
  queue(): Promise<AcquireReply> {
    return this.acquire(true);
  }

  claim(): Promise<ClaimReply> {
    return this.keepTicket(this.server.store.claim(this.resource, this.wanted, this.ticket));
  }

  /** Ends the wait, and accepts a grant that was made meanwhile. */
  withdraw(): Promise<WithdrawReply> {
    return this.keepTicket(this.server.store.withdraw(this.resource, { ...this.wanted, giveBack: false }));
  }

  /** Ends the wait of a caller that has disconnected, and gives a grant back. */
  giveBack(fencingToken?: bigint): Promise<WithdrawReply> {
    const command = { ...this.wanted, giveBack: true, fencingToken };
    return this.keepTicket(this.server.store.withdraw(this.resource, command));
  }

  /** Gives back a direct grant after the end of the call, unless a command of the call was answered with the grant. */
  giveBackUnheard(fencingToken: bigint): Promise<WithdrawReply> {
    const command = { ...this.wanted, giveBack: true, fencingToken, onlyUnheard: true };
    return this.keepTicket(this.server.store.withdraw(this.resource, command));
  }

  touch(): Promise<TouchReply> {
    return this.server.store.touch(this.resource, [this.wanted]);
  }

  /** RenewLock: a unary renewal by the lease's secret. */
  renew(secret: string, ttlMs?: number, metadata?: Readonly<Record<string, string>>): Promise<RenewReply> {
    return this.renewal(secret, ttlMs, undefined, metadata);
  }

  /** A stream's renewal. */
  keepAlive(secret: string): Promise<RenewReply> {
    return this.renewal(secret, undefined, { attach: this.attach, takeOver: false });
  }

  /** The lease in a common renewal of several leases. Default secret: of a lease that this call was granted. */
  toRenew(secret = this.secret): LeaseToRenew {
    const { resource, requestId, attach, identity } = this;
    return { resource, requestId, secret, attach, identity };
  }

  /** A stream opens with the lease id and takes the lease over. */
  takeOver(secret: string, ttlMs?: number): Promise<RenewReply> {
    return this.renewal(secret, ttlMs, { attach: this.attach, takeOver: true });
  }

  /** ReleaseLock: a release by the lease's secret. */
  release(secret: string): Promise<ReleaseReply> {
    const { requestId, identity, resource } = this;
    return this.server.store.release(resource, { requestId, secret, identity, afterLoss: undefined });
  }

  /** Releases a possibly remaining lease after a stream has reported `lost`. */
  releaseAfterLoss(secret: string): Promise<ReleaseReply> {
    const { requestId, identity, resource, attach } = this;
    return this.server.store.release(resource, { requestId, secret, identity, afterLoss: { attach } });
  }

  private acquire(wait: boolean): Promise<AcquireReply> {
    const { options, wanted, resource, stream } = this;
    const maxWaiters = options.maxWaiters ?? 10_000;
    return this.keepTicket(
      this.server.store.acquire(resource, wanted, { wait, takeOver: stream, maxWaiters }),
    );
  }

  private renewal(
    secret: string,
    ttlMs: number | undefined,
    stream: { attach: string; takeOver: boolean } | undefined,
    metadata?: Readonly<Record<string, string>>,
  ): Promise<RenewReply> {
    const { requestId, identity } = this;
    return this.server.store.renew(this.resource, { requestId, secret, identity, ttlMs, metadata, stream });
  }

  private async keepTicket<Reply extends AcquireReply | ClaimReply | WithdrawReply>(
    reply: Promise<Reply>,
  ): Promise<Reply> {
    const answer = await reply;
    if (answer.kind === 'waiting') this.ticket = answer.ticket;
    if (answer.kind === 'withdrawn') this.ticket = answer.ticket ?? this.ticket;
    if (answer.kind === 'granted') this.token = answer.fencingToken;
    return answer;
  }
}

/** Leases that stay during a long test. */
const TTL_MS = 3_600_000;
const IN_FLIGHT = 64;

const lockNamed = (name: string): Resource => ({ service: 'lock', name });

/** Acquires a lock of each name by commands of the store, which costs less than calls. */
export async function holdNames(server: SpeakingServer, names: Iterable<string>): Promise<void> {
  const left = names[Symbol.iterator]();
  const hold = async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      is('granted', await new Requester(server, lockNamed(next.value), { ttlMs: TTL_MS }).try());
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, hold));
}

/** Clients that acquire and release locks of their own, in turn, until they are stopped. */
export class BusyNames {
  private stopped = false;
  private readonly clients: readonly Promise<void>[];

  /** Each client uses its names in turn. */
  constructor(
    private readonly server: SpeakingServer,
    clientNames: readonly (readonly string[])[],
  ) {
    this.clients = clientNames.map((names) => this.run(names));
  }

  /** Rejects if a lock was not granted or not released. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.clients);
  }

  private async run(names: readonly string[]): Promise<void> {
    for (let turn = 0; !this.stopped; turn += 1) {
      const one = new Requester(this.server, lockNamed(names[turn % names.length] as string));
      is('granted', await one.try());
      is('released', await one.release(one.secret));
    }
  }
}
