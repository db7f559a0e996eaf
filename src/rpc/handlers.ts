import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServiceDefinition,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { HoldfastError } from '../base/errors';
import { nextTurn } from '../flow/turns';
import type { CallStatus } from './call-errors';
import { RequestReader } from './streams';
import {
  ServedCall,
  type CallContext,
  type GrpcCall,
  type SingleAnswerCall,
  type StreamingCall,
} from './served-call';
import type { ConversationRow, OfferedCall, OfferedService, UnaryRow, UploadRow, WatchRow } from './service';

/** Bound of the header names and values of one call, in total. */
export const MAX_HEADER_BYTES = 16_384;

export type { CallContext } from './served-call';

/** A service in the form that grpc-js takes. */
export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
}

/** @param calls the calls of all services, by path */
export function grpcService(
  { definition, rows }: OfferedService,
  calls: ReadonlyMap<string, OfferedCall>,
  context: CallContext,
): GrpcService {
  const methods = Object.entries(definition).map(([field, method]) => {
    const row = rows[field] as OfferedCall['row'];
    if ('serve' in row) return [field, method, row.serve] as const;
    const { decode = method.requestDeserialize, answer = method.responseSerialize } = row;
    const coded = {
      ...method,
      requestDeserialize: decode,
      responseSerialize: answer as (response: unknown) => Buffer,
    };
    return [field, coded, handler(context, calls.get(method.path) as OfferedCall)] as const;
  });
  return {
    definition: Object.fromEntries(methods.map(([field, method]) => [field, method])),
    handlers: Object.fromEntries(methods.map(([field, , handle]) => [field, handle])),
  };
}

/**
 * Wraps the handler of a row. The wrapper answers exactly once and catches every error. An error that reaches grpc-js
 * would leave the call without an answer and end the process.
 */
function handler(context: CallContext, call: OfferedCall): UntypedHandleCall {
  if (call.requestStream) return call.responseStream ? conversation(context, call) : upload(context, call);
  return call.responseStream ? watch(context, call) : unary(context, call);
}

function unary(context: CallContext, offered: OfferedCall): handleUnaryCall<unknown, unknown> {
  const { handle } = offered.row as UnaryRow<unknown, unknown>;
  return (grpcCall, callback) =>
    void serveSingle(new ServedCall(grpcCall, context, offered), context, grpcCall, callback, (call) => {
      call.admit(grpcCall.request, false);
      return handle(grpcCall.request, call);
    });
}

function upload(context: CallContext, offered: OfferedCall): handleClientStreamingCall<unknown, unknown> {
  const { handle } = offered.row as UploadRow<unknown, unknown>;
  return (grpcCall, callback) =>
    void serveSingle(new ServedCall(grpcCall, context, offered), context, grpcCall, callback, (call) => {
      call.admitStream(false);
      return handle(new RequestReader(grpcCall), call);
    });
}

async function serveSingle(
  call: ServedCall,
  context: CallContext,
  grpcCall: SingleAnswerCall,
  callback: sendUnaryData<unknown>,
  handle: (call: ServedCall) => Promise<unknown>,
): Promise<void> {
  let response: unknown;
  try {
    checkHeaderSize(grpcCall.metadata);
    const proof = call.prove();
    if (proof !== undefined) await proof; // An await without a promise takes a turn of the microtasks.
    call.enter();
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

function watch(context: CallContext, offered: OfferedCall): handleServerStreamingCall<unknown, unknown> {
  const { handle } = offered.row as WatchRow<unknown, unknown>;
  return (grpcCall) =>
    void serveStream(new ServedCall(grpcCall, context, offered), context, grpcCall, (call) => {
      call.admit(grpcCall.request, true);
      return handle(grpcCall.request, call, grpcCall);
    });
}

function conversation(context: CallContext, offered: OfferedCall): handleBidiStreamingCall<unknown, unknown> {
  const { handle, countsItself = false } = offered.row as ConversationRow<unknown, unknown>;
  return (grpcCall) =>
    void serveStream(new ServedCall(grpcCall, context, offered), context, grpcCall, (call) => {
      call.admitStream(countsItself);
      return handle(grpcCall, call);
    });
}

async function serveStream(
  call: ServedCall,
  context: CallContext,
  grpcCall: StreamingCall,
  handle: (call: ServedCall) => Promise<void>,
): Promise<void> {
  let failure: CallStatus | undefined;
  try {
    checkHeaderSize(grpcCall.metadata);
    const proof = call.prove();
    if (proof !== undefined) await proof;
    call.enter();
    // A cancelled call must not reach the handler, because a hold stream supersedes an older stream. After a pause of
    // the process, grpc-js reports a call first and its cancellation one turn of the event loop later.
    await nextTurn();
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
