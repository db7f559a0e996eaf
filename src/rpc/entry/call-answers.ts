import {
  status as codes,
  type Metadata,
  type ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import type { CallMeters, CallSpans, MethodMeter } from './call-meters';
import { traceparentOf } from '../../base/log';
import { REASON_TRAILER } from '../call-errors';
import { incomingCall, sendHeaders } from './grpc-js';
import { beginArrival } from './http2-arrival';

type Status = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface Call extends ServerInterceptingCallInterface {
  firstStatus?: Status;
  meter?: MethodMeter;
  /** Monotonic time (ms). */
  startedAt?: number;
  /** Undefined: the server makes no spans. */
  spans?: CallSpans | undefined;
  /** The headers of the request. A private field of grpc-js. */
  readonly metadata: Metadata;
  /** Whether the end of the call is counted. */
  isCounted?: boolean;
  /** Runs when the call is cancelled, and at the end of each call. */
  notifyOnCancel(): void;
}

const { OK, CANCELLED } = codes;

/** The headers of each answer that has messages. */
const HEADERS = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
} as const;

/** The class of grpc-js. Its methods are the originals of the functions below. */
function classOf(call: Call): ServerInterceptingCallInterface {
  return Object.getPrototypeOf(call) as ServerInterceptingCallInterface;
}

/** grpc-js would merge four objects for the headers of each answer, and Node would add the date. */
function sendMetadata(this: Call, metadata: Metadata): void {
  if (Object.keys(metadata.getMap()).length > 0) classOf(this).sendMetadata.call(this, metadata);
  else sendHeaders(this, HEADERS);
}

function countEnd(call: Call, code: number, trailers?: Metadata | null): void {
  const { meter } = call;
  if (meter === undefined || call.isCounted === true) return;
  call.isCounted = true;
  meter.end(code);
  if (meter.ms === undefined) return;
  const startedAt = call.startedAt as number;
  const endedAt = performance.now();
  meter.ms.add(endedAt - startedAt);
  if (call.spans === undefined) return;
  const { service, method } = meter;
  const reason = trailers?.get(REASON_TRAILER)[0]?.toString();
  call.spans.ended({
    service,
    method,
    code,
    reason,
    traceparent: traceparentOf(call.metadata),
    startedAt,
    endedAt,
  });
}

function notifyOnCancel(this: Call): void {
  countEnd(this, CANCELLED);
  (classOf(this) as Call).notifyOnCancel.call(this);
}

function sendStatus(this: Call, status: Status): void {
  if (this.firstStatus === undefined) countEnd(this, status.code ?? OK, status.metadata);
  this.firstStatus ??= status;
  classOf(this).sendStatus.call(this, this.firstStatus);
}

function sendMessage(this: Call, ...[message, done]: Parameters<Call['sendMessage']>): void {
  // grpc-js does not send a second status, but cancels the call for its handler.
  if (this.firstStatus) classOf(this).sendStatus.call(this, this.firstStatus);
  else {
    if (this.meter !== undefined) this.meter.sentCount += 1;
    classOf(this).sendMessage.call(this, message, done);
  }
}

/**
 * Sends the same headers with each answer that has messages. A call sends nothing after its first status. grpc-js
 * itself ends a call that it cannot read, or that has passed its deadline, while the handler still answers. A message
 * after such a status would break the HTTP/2 stream, and the client would receive neither the message nor the status.
 *
 * Counts the calls, their messages and their ends, and tells `spans` of the end of each unary call. Gives the call its
 * arrival.
 *
 * An interceptor that wraps the call would not see the statuses of grpc-js itself. All calls get the same functions.
 * If each call had its own functions, each call would be an object of a new shape for V8, and would stay in memory
 * for a long time.
 */
export function callAnswers(meters: CallMeters, spans?: CallSpans): ServerInterceptor {
  return (method, interceptedCall) => {
    const call = interceptedCall as Call;
    if (typeof call.notifyOnCancel !== 'function') {
      throw new Error(
        'calls of this version of @grpc/grpc-js have no method notifyOnCancel; use the pinned version',
      );
    }
    const meter = meters.of(method);
    meter.startedCount += 1;
    call.meter = meter;
    beginArrival(incomingCall(call));
    call.spans = spans;
    if (meter.ms !== undefined) call.startedAt = performance.now();
    call.sendMetadata = sendMetadata;
    call.sendStatus = sendStatus;
    call.sendMessage = sendMessage;
    call.notifyOnCancel = notifyOnCancel;
    return call as unknown as ServerInterceptingCall;
  };
}
