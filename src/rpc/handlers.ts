import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServerDuplexStream,
  ServerWritableStream,
} from '@grpc/grpc-js';
import { HoldfastError } from '../base/errors';
import type { CallStatus } from './call-errors';
import { RequestReader } from './streams';
import {
  ServedCall,
  type CallContext,
  type GrpcCall,
  type HandledCall,
  type SingleAnswerCall,
  type StreamingCall,
} from './served-call';

/** Bound of the header names and values of one call, in total. */
export const MAX_HEADER_BYTES = 16_384;

export type { CallContext, HandledCall } from './served-call';

export type UnaryHandler<Request, Response> = (request: Request, call: HandledCall) => Promise<Response>;

/** Writes all messages, then resolves or rejects. The stream ends with OK or with the error. */
export type StreamHandler<Request, Message> = (
  request: Request,
  call: HandledCall,
  stream: ServerWritableStream<Request, Message>,
) => Promise<void>;

export type ClientStreamHandler<Request, Response> = (
  requests: RequestReader<Request>,
  call: HandledCall,
) => Promise<Response>;

/** Like a StreamHandler, but also reads the client's messages from the stream. */
export type BidiHandler<Request, Message> = (
  stream: ServerDuplexStream<Request, Message>,
  call: HandledCall,
) => Promise<void>;

/**
 * Wraps a unary handler. The wrapper answers exactly once and catches every error. An error that reaches grpc-js would
 * leave the call without an answer and end the process.
 */
export function unary<Request, Response>(
  context: CallContext,
  handler: UnaryHandler<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (grpcCall, callback) =>
    void serveSingle(context, grpcCall, callback, false, (call) => {
      call.checkNames(grpcCall.request);
      call.count(grpcCall.request, false);
      return handler(grpcCall.request, call);
    });
}

/** Wraps a handler that reads a stream of messages and answers once. */
export function clientStream<Request, Response>(
  context: CallContext,
  handler: ClientStreamHandler<Request, Response>,
): handleClientStreamingCall<Request, Response> {
  return (grpcCall, callback) =>
    void serveSingle(context, grpcCall, callback, true, (call) => {
      call.checkAnyName();
      call.count(undefined, true);
      return handler(new RequestReader(grpcCall), call);
    });
}

async function serveSingle<Response>(
  context: CallContext,
  grpcCall: SingleAnswerCall,
  callback: sendUnaryData<Response>,
  isStream: boolean,
  handle: (call: ServedCall) => Promise<Response>,
): Promise<void> {
  const call = new ServedCall(grpcCall, context);
  let response: Response;
  try {
    checkHeaderSize(grpcCall.metadata);
    const proof = context.access && call.prove(context.access);
    if (proof !== undefined) await proof; // An await without a promise takes a turn of the microtasks.
    call.enter(isStream);
    response = await handle(call);
  } catch (error) {
    call.end();
    call.auditOutcome(error instanceof HoldfastError ? error.reason : 'INTERNAL');
    sendAnswer(context, grpcCall, () => callback(call.failureOf(error)));
    return;
  }
  call.end();
  call.auditOutcome('OK');
  sendAnswer(context, grpcCall, () => callback(null, response));
}

/** Wraps a handler that reads one message and answers with a stream. */
export function serverStream<Request, Message>(
  context: CallContext,
  handler: StreamHandler<Request, Message>,
): handleServerStreamingCall<Request, Message> {
  return (grpcCall) =>
    void serveStream(context, grpcCall, (call) => {
      call.checkNames(grpcCall.request);
      call.count(grpcCall.request, true);
      return handler(grpcCall.request, call, grpcCall);
    });
}

/**
 * Wraps a handler that reads a stream and answers with a stream. The first read waits for the listener of 'data'.
 * @param countsItself true: the handler counts its calls for the quotas, because its first message is needed to do so
 */
export function bidi<Request, Message>(
  context: CallContext,
  handler: BidiHandler<Request, Message>,
  { countsItself = false } = {},
): handleBidiStreamingCall<Request, Message> {
  return (grpcCall) =>
    void serveStream(context, grpcCall, (call) => {
      call.checkAnyName();
      if (!countsItself) call.count(undefined, true);
      return handler(grpcCall, call);
    });
}

async function serveStream(
  context: CallContext,
  grpcCall: StreamingCall,
  handle: (call: ServedCall) => Promise<void>,
): Promise<void> {
  const call = new ServedCall(grpcCall, context);
  let failure: CallStatus | undefined;
  try {
    checkHeaderSize(grpcCall.metadata);
    if (context.access !== undefined) await call.prove(context.access);
    call.enter(true);
    // A cancelled call must not reach the handler, because a hold stream supersedes an older stream. After a pause of
    // the process, grpc-js reports a call first and its cancellation one turn of the event loop later.
    await new Promise(setImmediate);
    if (!grpcCall.cancelled) await handle(call);
  } catch (error) {
    failure = call.failureOf(error);
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
