import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AcquireLockRequest,
  ReleaseLockRequest,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import { encodeLeaseId } from '../../../src/leases/lease-id';
import { acquireRequest, type LockWanted } from '../clients/lease-client';
import { FrameConnection, type FrameConnectionOptions, type Outcome, type RawCall } from './frame-connection';

export interface AttackTarget {
  readonly address: string;
  /** The prefix of all names that the attack uses. */
  readonly label: string;
  readonly forMs: number;
  /** The size of the attack, as a share of its full size: 1 in the benchmark, less in a test. */
  readonly scale: number;
  /** The ttl of the calls without a wait. Default: 1 s, so that an attack under load also meets expired leases. */
  readonly tryOnceTtlMs?: number;
}

export interface AttackReport {
  /** The number of calls with each outcome. */
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** The number of connections, including those that took the place of ended connections. */
  readonly connections: number;
  /** The time until the last call of the first wave was sent (ms). Undefined for an attack without waves. */
  readonly sentAfterMs?: number;
}

const TRY_ONCE_TTL_MS = 1000;

/** One way of asking too much of a server. */
export interface Attack {
  /** The name in commands and results. */
  readonly name: string;
  readonly title: string;
  /**
   * The answer to calls that the server refuses before their work. Such an attack needs a server with a `Guard`.
   * Undefined: the server asks for no credentials.
   */
  readonly refusal?: Outcome;
  run(scene: AttackScene): Promise<void>;
}

/** The connections and counts of a running attack. */
export class AttackScene {
  private readonly outcomes = new Map<Outcome, number>();
  private readonly connections = new Set<FrameConnection>();
  private readonly startedAt = performance.now();
  private opened = 0;
  private sentAfterMs: number | undefined;
  private closed = false;

  constructor(private readonly target: AttackTarget) {}

  get label(): string {
    return this.target.label;
  }

  get tryOnceTtlMs(): number {
    return this.target.tryOnceTtlMs ?? TRY_ONCE_TTL_MS;
  }

  /** True after the time of the attack. */
  get over(): boolean {
    return this.closed || this.elapsedMs >= this.target.forMs;
  }

  get elapsedMs(): number {
    return performance.now() - this.startedAt;
  }

  /** The number of calls or connections of a full attack, reduced by the scale of this attack. */
  scaled(count: number): number {
    return Math.max(1, Math.round(count * this.target.scale));
  }

  async connect(options: FrameConnectionOptions = {}): Promise<FrameConnection> {
    this.opened += 1;
    const connection = new FrameConnection(this.target.address, {
      ...options,
      onOutcome: (outcome, stream) => {
        this.count(outcome);
        if (!this.closed) options.onOutcome?.(outcome, stream);
      },
      onEnd: () => {
        this.connections.delete(connection);
        if (!this.closed) options.onEnd?.();
      },
    });
    this.connections.add(connection);
    await connection.ready();
    return connection;
  }

  count(outcome: Outcome): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** Notes that the first wave of calls has been sent. */
  allSent(): void {
    this.sentAfterMs ??= this.elapsedMs;
  }

  /** Keeps all connections and calls open until the attack is over. */
  async rest(): Promise<void> {
    await sleep(Math.max(0, this.target.forMs - this.elapsedMs));
  }

  /** Cuts all connections. */
  close(): AttackReport {
    this.closed = true;
    for (const connection of [...this.connections]) connection.close();
    const report = { outcomes: Object.fromEntries(this.outcomes), connections: this.opened };
    return this.sentAfterMs === undefined ? report : { ...report, sentAfterMs: this.sentAfterMs };
  }
}

/** Runs an attack for its time. At the end all its connections are cut at once. */
export async function runAttack(attack: Attack, target: AttackTarget): Promise<AttackReport> {
  const scene = new AttackScene(target);
  try {
    await attack.run(scene);
    await scene.rest();
  } finally {
    scene.close();
  }
  return scene.close();
}

/** A gRPC message with its prefix of five bytes. */
export function bodyOf(message: Uint8Array): Buffer {
  const body = Buffer.alloc(5 + message.length);
  body.writeUInt32BE(message.length, 1);
  body.set(message, 5);
  return body;
}

export const ACQUIRE_LOCK = '/holdfast.v1.LockService/AcquireLock';

export function acquireLock(wanted: LockWanted): RawCall {
  return { path: ACQUIRE_LOCK, body: bodyOf(AcquireLockRequest.encode(acquireRequest(wanted)).finish()) };
}

/** A call that releases a lease of this name with a guessed lease id. */
export function releaseLock(name: string): RawCall {
  const resource = { service: 'lock', name } as const;
  const leaseId = encodeLeaseId({ resource, requestId: randomUUID(), secret: 'A'.repeat(22) });
  const path = '/holdfast.v1.LockService/ReleaseLock';
  return { path, body: bodyOf(ReleaseLockRequest.encode({ leaseId }).finish()) };
}

/** Keeps an equal part of the calls outstanding on each connection: each answer is followed by a call. */
export async function keepOutstanding(
  scene: AttackScene,
  connectionCount: number,
  callCount: number,
  nextCall: () => RawCall,
): Promise<void> {
  const each = Math.ceil(callCount / connectionCount);
  const connections = Array.from({ length: connectionCount }, async () => {
    while (!scene.over) {
      let ended = (): void => undefined;
      const end = new Promise<void>((resolve) => (ended = resolve));
      const connection = await scene.connect({
        onOutcome: () => {
          if (!connection.ended && !scene.over) connection.call(nextCall());
        },
        onEnd: () => ended(),
      });
      for (let count = 0; count < each; count += 1) connection.call(nextCall());
      scene.allSent();
      await Promise.race([end, scene.rest()]);
      connection.close();
    }
  });
  await Promise.all(connections);
}

/** Opens the connections, and then sends all calls at once, an equal part on each connection. */
export async function sendAtOnce(
  scene: AttackScene,
  connectionCount: number,
  calls: readonly RawCall[],
  reads: (connection: number) => FrameConnectionOptions['reads'] = () => 'all',
): Promise<void> {
  const connections = await Promise.all(
    Array.from({ length: connectionCount }, (_, index) => scene.connect({ reads: reads(index) ?? 'all' })),
  );
  const each = Math.ceil(calls.length / connectionCount);
  for (const [index, connection] of connections.entries()) {
    for (const call of calls.slice(index * each, (index + 1) * each)) connection.call(call);
  }
  scene.allSent();
}
