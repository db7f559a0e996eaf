import type { ServerInterceptingCall, ServerInterceptingCallInterface } from '@grpc/grpc-js';

type Status = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/**
 * Makes the first status of a call the last thing that the call sends. grpc-js itself ends a call that it cannot read,
 * or that has passed its deadline, while the handler still answers. A message after such a status would break the
 * HTTP/2 stream, and the client would receive neither the message nor the status.
 */
export function oneStatus(_method: unknown, call: ServerInterceptingCallInterface): ServerInterceptingCall {
  let first: Status | undefined;
  const sendMessage = call.sendMessage.bind(call);
  const sendStatus = call.sendStatus.bind(call);
  // An interceptor that wraps the call would not see the statuses of grpc-js itself.
  call.sendStatus = (status) => {
    first ??= status;
    sendStatus(first);
  };
  call.sendMessage = (message, done) => {
    // grpc-js does not send a second status, but cancels the call for its handler.
    if (first === undefined) sendMessage(message, done);
    else sendStatus(first);
  };
  return call as ServerInterceptingCall;
}
