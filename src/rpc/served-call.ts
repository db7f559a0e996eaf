import type { EventEmitter } from 'node:events';
import type {
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import { AdmittedCall, type Admission } from '../access/admit';
import type { CallerUse } from '../base/callers';
import type { Clock } from '../base/clock';
import type { Reason } from '../base/errors';
import { type Log, traceparentOf } from '../base/log';
import { escapeText } from '../base/text';
import {
  type CallStatus,
  type ErrorSummary,
  REASON_TRAILER,
  toCallStatus,
  toErrorSummary,
} from './call-errors';
import type { CallerCounts } from './caller-counts';
import { arrivalOf, endCall } from './entry/grpc-js';
import type { HandledCall, OfferedCall } from './service';

const RETRY_HEADER = 'grpc-previous-rpc-attempts';

export type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
export type SingleAnswerCall = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
export type GrpcCall = StreamingCall | SingleAnswerCall;

export interface CallContext extends Admission {
  readonly clock: Clock;
  readonly log: Log;
  /** Counts what callers do, for the list of callers. */
  readonly counts: CallerCounts;
}

/** The engine's view of a gRPC call. Fields that few calls need are computed on first use. */
export class ServedCall extends AdmittedCall implements HandledCall {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  caller: CallerUse | undefined;
  private answered = false;

  constructor(
    private readonly grpcCall: GrpcCall,
    private readonly context: CallContext,
    private readonly offered: OfferedCall,
  ) {
    super(context, arrivalOf(grpcCall), offered.rule);
    this.receivedAt = context.clock.now();
    // grpc-js keeps the deadline as a time of day. The timeout is computed now, before the wall clock can step.
    const deadline = grpcCall.getDeadline();
    this.timeoutMs = deadline === Infinity ? undefined : Number(deadline) - Date.now();
  }

  get traceparent(): string | undefined {
    return traceparentOf(this.grpcCall.metadata);
  }

  get transportRetry(): boolean {
    return this.grpcCall.metadata.get(RETRY_HEADER).length > 0;
  }

  get cancelled(): boolean {
    return this.grpcCall.cancelled && !this.answered;
  }

  onCancelled(listener: () => void): void {
    const run = (): void => {
      // grpc-js emits 'cancelled' after every call, also after an answered call.
      if (this.answered) return;
      try {
        listener();
      } catch (error) {
        const { method } = this;
        this.context.log.error({ err: error, method }, 'the listener of a cancelled call failed');
      }
    };
    if (this.grpcCall.cancelled) run();
    else (this.grpcCall as EventEmitter).once('cancelled', run);
  }

  countCommand(): void {
    if (this.caller !== undefined) this.context.counts.calledAgain(this.caller);
  }

  /** Counts the call until its end. Its caller is proven, if the server asks for a proof. */
  enter(): void {
    const caller = this.context.counts.called(this.identity, this.connection);
    this.caller = caller;
    caller.openCount += 1;
    if (!this.offered.unary) caller.streamCount += 1;
  }

  private leave(caller: CallerUse): void {
    caller.openCount -= 1;
    if (!this.offered.unary) caller.streamCount -= 1;
  }

  /** The status of the failed call. A refusal is counted and audited. */
  failureOf(error: unknown): CallStatus {
    const failure = this.statusOf(error);
    this.auditQuota(error);
    const [reason] = failure.metadata.get(REASON_TRAILER);
    // A call that was refused before its caller was proven has not entered, and is counted here.
    this.context.counts.refused(this, this.caller, reason as Reason);
    return failure;
  }

  summaryOf(error: unknown): ErrorSummary {
    const summary = toErrorSummary(error, this.method, this.context.log, () => this.loggedCaller);
    this.auditQuota(error);
    this.context.counts.refused(this, this.caller, summary.reason);
    return summary;
  }

  protected endWith(error: unknown): void {
    endCall(this.grpcCall, this.statusOf(error));
  }

  /** The status for an error. A defect is logged with the caller. */
  private statusOf(error: unknown): CallStatus {
    return toCallStatus(error, this.method, this.context.log, () => this.loggedCaller);
  }

  private get loggedCaller(): object {
    return { identity: escapeText(this.identity), ...this.trace };
  }

  /** Marks the end of the handler. After the end, a 'cancelled' event is no cancellation. */
  end(): void {
    this.answered = !this.grpcCall.cancelled;
    this.closeAdmission();
    if (this.caller !== undefined) this.leave(this.caller);
  }
}
