import type { Metadata, ServerInterceptingCall, ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { sendHeaders } from './grpc-internals';

type Status = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

interface Call extends ServerInterceptingCallInterface {
  firstStatus?: Status;
}

/** The headers of each answer that has messages. */
const HEADERS = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
} as const;

/** The class of grpc-js, with the methods that the functions below take the place of. */
function classOf(call: Call): ServerInterceptingCallInterface {
  return Object.getPrototypeOf(call) as ServerInterceptingCallInterface;
}

/** grpc-js would merge four objects for the headers of each answer, and Node would add the date. */
function sendMetadata(this: Call, metadata: Metadata): void {
  if (Object.keys(metadata.getMap()).length > 0) classOf(this).sendMetadata.call(this, metadata);
  else sendHeaders(this, HEADERS);
}

function sendStatus(this: Call, status: Status): void {
  this.firstStatus ??= status;
  classOf(this).sendStatus.call(this, this.firstStatus);
}

function sendMessage(this: Call, ...[message, done]: Parameters<Call['sendMessage']>): void {
  // grpc-js does not send a second status, but cancels the call for its handler.
  if (this.firstStatus) classOf(this).sendStatus.call(this, this.firstStatus);
  else classOf(this).sendMessage.call(this, message, done);
}

/**
 * Sends the same headers with each answer that has messages, and makes the first status of a call the last thing that the call sends.
 * grpc-js itself ends a call that it cannot read, or that has passed its deadline, while the handler still answers. A
 * message after such a status would break the HTTP/2 stream, and the client would receive neither the message nor the
 * status.
 *
 * An interceptor that wraps the call would not see the statuses of grpc-js itself. All calls get the same functions:
 * with functions of its own, each call would be an object of a new shape for V8, and stay in memory for long.
 */
export function callAnswers(_method: unknown, call: ServerInterceptingCallInterface): ServerInterceptingCall {
  call.sendMetadata = sendMetadata;
  call.sendStatus = sendStatus;
  call.sendMessage = sendMessage;
  return call as ServerInterceptingCall;
}
