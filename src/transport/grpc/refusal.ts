import { constants, type OutgoingHttpHeaders } from 'node:http2';
import type { HoldfastError } from '../../engine/errors';
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
