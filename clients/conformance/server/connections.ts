import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import { constants } from 'node:http2';

const numbers = new WeakMap<Http2Session, number>();
let last = 0;

/** The HTTP/2 stream of a call, which grpc-js keeps in a private field. */
function streamOf(call: object): ServerHttp2Stream {
  const stream: unknown = Reflect.get(Reflect.get(call, 'call') as object, 'stream');
  if (typeof stream !== 'object' || stream === null)
    throw new Error('grpc-js has no field "stream" any more');
  return stream as ServerHttp2Stream;
}

/** A number for the connection of a call. 0: the connection has ended. */
export function connectionOf(call: object): number {
  const { session } = streamOf(call);
  if (!session) return 0;
  const known = numbers.get(session) ?? (last += 1);
  numbers.set(session, known);
  return known;
}

export function cutConnectionOf(call: object): void {
  streamOf(call).session?.destroy();
}

/** Ends the stream as a proxy does that has no status: RST_STREAM with INTERNAL_ERROR. */
export function resetStreamOf(call: object): void {
  streamOf(call).close(constants.NGHTTP2_INTERNAL_ERROR);
}
