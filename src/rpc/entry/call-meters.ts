import { status } from '@grpc/grpc-js';
import type { Reason } from '../../base/errors';
import { Distribution } from '../../base/meters';
import { ERROR_TABLE } from '../call-errors';

const REASONS = Object.keys(ERROR_TABLE) as Reason[];

/** Counts failures by reason. Each reason has a count from the start: Prometheus sees no rise in a first sample. */
export class FailureCounts {
  private readonly counts = new Map<Reason, number>(REASONS.map((reason) => [reason, 0]));

  add(reason: Reason): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
  }

  all(): Iterable<readonly [Reason, number]> {
    return this.counts;
  }
}

/** Bounds of the times of calls: from an answer without the store to the longest wait (ms). */
const BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000];
const CODE_COUNT = status.UNAUTHENTICATED + 1;

export interface MeteredMethod {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/**
 * Why the server cuts a connection at once: the client does not take the answers to refused calls, sends many frames
 * that are no work, or does not begin HTTP/2.
 */
export type CutCause = 'unread-answers' | 'idle-frames' | 'no-first-frame';

export type CallType = 'unary' | 'client_stream' | 'server_stream' | 'bidi_stream';

/** The calls of one method, as plain numbers since the start of the process. */
export class MethodMeter {
  readonly type: CallType;
  readonly service: string;
  readonly method: string;
  startedCount = 0;
  receivedCount = 0;
  sentCount = 0;
  /** The ended calls by the number of their status. */
  readonly handled: number[] = Array<number>(CODE_COUNT).fill(0);
  /** The times of unary calls (ms). Undefined for streams, because a stream lasts as long as its client wants. */
  readonly ms: Distribution | undefined;

  constructor({ path, requestStream, responseStream }: MeteredMethod) {
    const [, service = '', method = ''] = path.split('/');
    this.service = service;
    this.method = method;
    if (requestStream) this.type = responseStream ? 'bidi_stream' : 'client_stream';
    else this.type = responseStream ? 'server_stream' : 'unary';
    this.ms = this.type === 'unary' ? new Distribution(BOUNDS) : undefined;
  }

  end(code: number): void {
    const known = code < CODE_COUNT ? code : status.UNKNOWN;
    this.handled[known] = (this.handled[known] as number) + 1;
  }
}

/** The meters of all methods that this server has. Calls of other methods are not counted, so the number of meters is bounded. */
export class CallMeters {
  /** The connections that the server has cut, by the cause. */
  readonly cutConnections: Record<CutCause, number> = {
    'unread-answers': 0,
    'idle-frames': 0,
    'no-first-frame': 0,
  };
  private readonly methods = new Map<string, MethodMeter>();

  /** The method must be a method of this server. */
  of(method: MeteredMethod): MethodMeter {
    let meter = this.methods.get(method.path);
    if (meter === undefined) this.methods.set(method.path, (meter = new MethodMeter(method)));
    return meter;
  }

  /** Counts a call that was answered before its handler could begin. */
  refused(path: string, code: number): void {
    const meter = this.methods.get(path);
    if (meter === undefined) return;
    meter.startedCount += 1;
    meter.end(code);
  }

  all(): Iterable<MethodMeter> {
    return this.methods.values();
  }
}

/** A unary call at its end. */
export interface EndedCall {
  readonly service: string;
  readonly method: string;
  /** The number of the status. */
  readonly code: number;
  /** The reason of the error. Undefined: the call has succeeded, or gRPC itself has ended the call. */
  readonly reason: string | undefined;
  /** The W3C trace context of the caller. */
  readonly traceparent: string | undefined;
  /** The arrival and the end of the call (ms, monotonic). */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Called at the end of each unary call. Must not throw. */
export interface CallSpans {
  ended(call: EndedCall): void;
}
