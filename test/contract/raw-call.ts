import {
  connect,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { decodeStatusDetails } from '../../src/wire/status-details';

export interface RawOutcome {
  /** `grpc-status`; undefined if the call ended without one. */
  readonly code: number | undefined;
  readonly message: string;
  /** The reason in the details, if they have one. */
  readonly reason: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Messages of the answer, with their frames. */
  readonly body: Buffer;
}

export interface RawCall {
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** What is sent, frames and all. */
  readonly body?: Buffer;
  /** Default true: nothing more is sent. */
  readonly halfClose?: boolean;
}

/** A gRPC message in its frame. */
export function frame(message: Uint8Array, compressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Calls on the level of HTTP/2, for what no gRPC library would send. */
export class RawConnection {
  private readonly session: ClientHttp2Session;
  closed = false;

  constructor(target: string) {
    this.session = connect(`http://${target}`);
    this.session.on('close', () => (this.closed = true));
    // A server may cut a connection that misbehaves; a test asks `closed`.
    this.session.on('error', () => undefined);
  }

  call({ path, headers = {}, body = Buffer.alloc(0), halfClose = true }: RawCall): Promise<RawOutcome> {
    return new Promise((resolve) => {
      const stream = this.session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      });
      let received: IncomingHttpHeaders = {};
      const chunks: Buffer[] = [];
      stream.on('response', (first) => (received = { ...received, ...first }));
      stream.on('trailers', (last) => (received = { ...received, ...last }));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', () => undefined);
      stream.on('close', () => resolve(outcomeOf(received, Buffer.concat(chunks))));
      if (halfClose) stream.end(body);
      else stream.write(body);
    });
  }

  close(): void {
    this.session.destroy();
  }
}

function outcomeOf(headers: IncomingHttpHeaders, body: Buffer): RawOutcome {
  const code = headers['grpc-status'];
  const details = headers['grpc-status-details-bin'];
  const decoded = typeof details === 'string' && decodeStatusDetails(Buffer.from(details, 'base64'));
  return {
    code: code === undefined ? undefined : Number(code),
    message: decodeURIComponent(String(headers['grpc-message'] ?? '')),
    reason: decoded ? decoded.reason : undefined,
    headers,
    body,
  };
}
