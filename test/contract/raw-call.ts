import {
  connect,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { decodeStatusDetails } from '../../clients/typescript/status-details';

export interface RawOutcome {
  /** The header `grpc-status`. Undefined if the call ended without a status. */
  readonly code: number | undefined;
  readonly message: string;
  /** The reason in the details. Undefined if the status has no details. */
  readonly reason: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** The frames of the answer's messages. */
  readonly body: Buffer;
}

export interface RawCall {
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** The frames of the request's messages. */
  readonly body?: Buffer;
  /** Whether the request ends after `body`. Default: true. */
  readonly halfClose?: boolean;
}

/** Puts a gRPC message into its frame. */
export function frame(message: Uint8Array, compressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed ? 1 : 0, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Sends raw HTTP/2 requests, even requests that no gRPC library sends. */
export class RawConnection {
  private readonly session: ClientHttp2Session;
  closed = false;

  constructor(target: string) {
    this.session = connect(`http://${target}`);
    this.session.on('close', () => (this.closed = true));
    // The server may close a connection after a protocol violation. Tests check `closed`.
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
