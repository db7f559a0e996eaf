import type { EventEmitter } from 'node:events';
import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import type { Call } from '../../engine/call';
import type { Clock } from '../../engine/clock';
import { HoldfastError } from '../../engine/errors';
import { toCallStatus, type CallStatus } from './errors';
import { connectionOf } from './grpc-internals';
import type { Log } from './log';
import { RequestReader } from './request-reader';

/** Bound of the header names and values of one call, in total. */
export const MAX_HEADER_BYTES = 16_384;

const RETRY_HEADER = 'grpc-previous-rpc-attempts';

export interface CallContext {
  readonly clock: Clock;
  readonly log: Log;
}

export type UnaryHandler<Request, Response> = (request: Request, call: Call) => Promise<Response>;

/** Writes all messages, then resolves or rejects. The stream ends with OK or with the error. */
export type StreamHandler<Request, Message> = (
  request: Request,
  call: Call,
  stream: ServerWritableStream<Request, Message>,
) => Promise<void>;

export type ClientStreamHandler<Request, Response> = (
  requests: RequestReader<Request>,
  call: Call,
) => Promise<Response>;

/** Like a StreamHandler, but also reads the client's messages from the stream. */
export type BidiHandler<Request, Message> = (
  stream: ServerDuplexStream<Request, Message>,
  call: Call,
) => Promise<void>;

type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
type SingleAnswerCall = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
type GrpcCall = StreamingCall | SingleAnswerCall;

/**
 * Wraps a unary handler. The wrapper answers exactly once and catches every error. An error that reaches grpc-js would
 * leave the call without an answer and end the process.
 */
export function unary<Request, Response>(
  context: CallContext,
  handler: UnaryHandler<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (grpcCall, callback) =>
    void serveSingle(context, grpcCall, callback, (call) => handler(grpcCall.request, call));
}

/** Wraps a handler that reads a stream of messages and answers once. */
export function clientStream<Request, Response>(
  context: CallContext,
  handler: ClientStreamHandler<Request, Response>,
): handleClientStreamingCall<Request, Response> {
  return (grpcCall, callback) =>
    void serveSingle(context, grpcCall, callback, (call) => handler(new RequestReader(grpcCall), call));
}

async function serveSingle<Response>(
  context: CallContext,
  grpcCall: SingleAnswerCall,
  callback: sendUnaryData<Response>,
  handle: (call: Call) => Promise<Response>,
): Promise<void> {
  const call = new ServedCall(grpcCall, context);
  let response: Response;
  try {
    checkHeaderSize(grpcCall.metadata);
    response = await handle(call);
  } catch (error) {
    call.end();
    sendAnswer(context, grpcCall, () => callback(toCallStatus(error, grpcCall.getPath(), context.log)));
    return;
  }
  call.end();
  sendAnswer(context, grpcCall, () => callback(null, response));
}

/** Wraps a handler that reads one message and answers with a stream. */
export function serverStream<Request, Message>(
  context: CallContext,
  handler: StreamHandler<Request, Message>,
): handleServerStreamingCall<Request, Message> {
  return (grpcCall) =>
    void serveStream(context, grpcCall, (call) => handler(grpcCall.request, call, grpcCall));
}

/** Wraps a handler that reads a stream and answers with a stream. The first read waits for the listener of 'data'. */
export function bidi<Request, Message>(
  context: CallContext,
  handler: BidiHandler<Request, Message>,
): handleBidiStreamingCall<Request, Message> {
  return (grpcCall) => void serveStream(context, grpcCall, (call) => handler(grpcCall, call));
}

async function serveStream(
  context: CallContext,
  grpcCall: StreamingCall,
  handle: (call: Call) => Promise<void>,
): Promise<void> {
  const call = new ServedCall(grpcCall, context);
  let failure: CallStatus | undefined;
  try {
    checkHeaderSize(grpcCall.metadata);
    // A cancelled call must not reach the handler, because a hold stream supersedes an older stream. After a pause of
    // the process, grpc-js reports a call first and its cancellation one turn of the event loop later.
    await new Promise(setImmediate);
    if (!grpcCall.cancelled) await handle(call);
  } catch (error) {
    failure = toCallStatus(error, grpcCall.getPath(), context.log);
  }
  call.end();
  sendAnswer(context, grpcCall, () => {
    // grpc-js turns an 'error' event into the stream's status, and sends the status after all written messages.
    if (failure === undefined) grpcCall.end();
    else grpcCall.emit('error', failure);
  });
}

/** Passes the answer to grpc-js. An error of grpc-js cannot reach the client, so the error is logged. */
function sendAnswer(context: CallContext, grpcCall: GrpcCall, answer: () => void): void {
  try {
    answer();
  } catch (error) {
    context.log.error({ err: error, method: grpcCall.getPath() }, 'the answer could not be sent');
  }
}

function checkHeaderSize(metadata: Metadata): void {
  let bytes = 0;
  const headers = metadata.toJSON();
  for (const name in headers) {
    for (const value of headers[name] ?? []) bytes += name.length + value.length;
  }
  if (bytes <= MAX_HEADER_BYTES) return;
  throw new HoldfastError(
    'QUOTA_EXCEEDED',
    `the call's headers are ${bytes} bytes; at most ${MAX_HEADER_BYTES} are accepted; send less metadata`,
    { metadata: { limit: String(MAX_HEADER_BYTES) } },
  );
}

/** The engine's view of a gRPC call. Fields that few calls need are computed on first use. */
class ServedCall implements Call {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  private knownConnection: object | undefined;
  private answered = false;

  constructor(
    private readonly grpcCall: GrpcCall,
    private readonly context: CallContext,
  ) {
    this.receivedAt = context.clock.now();
    // grpc-js keeps the deadline as a time of day. The timeout is computed now, before the wall clock can step.
    const deadline = grpcCall.getDeadline();
    this.timeoutMs = deadline === Infinity ? undefined : Number(deadline) - Date.now();
  }

  get connection(): object {
    // A closed stream has no known connection, so a new object takes the place of the connection.
    this.knownConnection ??= connectionOf(this.grpcCall) ?? {};
    return this.knownConnection;
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
        const method = this.grpcCall.getPath();
        this.context.log.error({ err: error, method }, 'the listener of a cancelled call failed');
      }
    };
    if (this.grpcCall.cancelled) run();
    else (this.grpcCall as EventEmitter).once('cancelled', run);
  }

  /** Marks the end of the handler. After the end, a 'cancelled' event is no cancellation. */
  end(): void {
    this.answered = !this.grpcCall.cancelled;
  }
}
