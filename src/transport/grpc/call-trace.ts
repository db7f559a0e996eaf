import type { Metadata } from '@grpc/grpc-js';
import { escapeText } from '../../wire/escape-text';

/** What connects a call with the logs and traces of its caller. */
export interface CallTrace {
  /** The W3C trace context of the caller. */
  readonly traceparent?: string;
  /** The header `x-request-id`, escaped. Not the `request_id` of a lease, which is a secret. */
  readonly callId?: string;
}

/** The form of the versions of the W3C recommendation; later versions may add more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Longer ids are cut. */
const MAX_ID_CHARS = 128;

/** Reads the headers only when a line is logged. A header that is not valid is left out. */
export function traceOf(metadata: Metadata): CallTrace {
  const [traceparent] = metadata.get('traceparent');
  const [id] = metadata.get('x-request-id');
  return {
    ...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) && { traceparent }),
    ...(typeof id === 'string' && id !== '' && { callId: escapeText(id.slice(0, MAX_ID_CHARS)) }),
  };
}
