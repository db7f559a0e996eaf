import { once } from 'node:events';
import {
  connect,
  constants,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTcp } from 'node:net';
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
  readonly headers?: OutgoingHttpHeaders | undefined;
  /** The frames of the request's messages. */
  readonly body?: Buffer;
  /** Whether the request ends after `body`. Default: true. */
  readonly halfClose?: boolean;
}

/** An open call. */
export interface RawStream {
  /** Resolves when the server has ended the call, also if the request is still open. */
  readonly outcome: Promise<RawOutcome>;
  /** The number of bytes of the answer's messages so far. */
  readonly receivedBytes: number;
  write(body: Buffer): void;
  end(): void;
  cancel(): void;
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

  /** @param localAddress the address of the client, such as 127.0.0.2 */
  constructor(target: string, localAddress = '127.0.0.1') {
    // The default of 10 MB for all streams together would refuse answers while a test sends large requests.
    this.session = connect(`http://${target}`, {
      maxSessionMemory: 1000,
      ...(localAddress !== '127.0.0.1' && {
        createConnection: ({ hostname, port }: URL) =>
          connectTcp({ host: hostname, port: Number(port), localAddress }),
      }),
    });
    this.session.on('close', () => (this.closed = true));
    // The server may close a connection after a protocol violation. Tests check `closed`.
    this.session.on('error', () => undefined);
  }

  /** Tells the server that no more calls will come. The open calls go on. Resolves when the server has answered. */
  async announceEnd(): Promise<void> {
    this.session.goaway(constants.NGHTTP2_NO_ERROR);
    await once(this.session, 'goaway');
  }

  /** Makes one call. */
  call({ path, headers, body = Buffer.alloc(0), halfClose = true }: RawCall): Promise<RawOutcome> {
    const stream = this.open({ path, headers });
    if (body.length > 0) stream.write(body);
    if (halfClose) stream.end();
    return stream.outcome;
  }

  /** Sends the headers of a call. */
  open({ path, headers = {} }: Pick<RawCall, 'path' | 'headers'>): RawStream {
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
    const outcome = new Promise<RawOutcome>((resolve) => {
      const settle = (): void => resolve(outcomeOf(received, Buffer.concat(chunks)));
      // The event 'close' comes only after both sides have ended.
      stream.once('end', settle);
      stream.once('close', settle);
    });
    return {
      outcome,
      get receivedBytes() {
        return chunks.reduce((sum, { length }) => sum + length, 0);
      },
      write: (body) => void stream.write(body),
      end: () => void stream.end(),
      cancel: () => stream.close(constants.NGHTTP2_CANCEL),
    };
  }

  /** Closes the connection in a later turn, because Node 20 crashes if a session is destroyed while it is read. */
  close(): void {
    setImmediate(() => this.session.destroy());
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
