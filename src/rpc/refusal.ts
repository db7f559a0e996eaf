import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { HoldfastError } from '../base/errors';
import { statusOf } from './errors';

/** The HTTP/2 headers of an answer that consists of a status only: for calls that never reach grpc-js. */
export function refusalHeaders(error: HoldfastError): OutgoingHttpHeaders {
  const { code, details, metadata } = statusOf(error);
  return {
    [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_OK,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc+proto',
    'grpc-status': code,
    'grpc-message': encodeURI(details),
    ...metadata.toHttp2Headers(),
  };
}

/**
 * A reset stream emits 'error', and without a listener this event ends the process. grpc-js adds its listener later.
 */
export function surviveErrors(stream: ServerHttp2Stream): void {
  stream.on('error', () => undefined);
}

const REFUSED = { endStream: true, sendDate: false };

/** Answers a call that has not begun. The rest of its message is not kept. */
export function answer(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  if (stream.closed || stream.destroyed) return;
  stream.respond(headers, REFUSED);
  // A client that does not end its message would keep the stream open.
  if (stream.state.remoteClose === 1) stream.resume();
  else stream.close(constants.NGHTTP2_NO_ERROR);
}
