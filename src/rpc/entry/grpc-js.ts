import type { X509Certificate } from 'node:crypto';
import { lstat, unlink } from 'node:fs/promises';
import {
  constants,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createConnection, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { keepRepeatedAuthorization } from '../../access/client-certificates';
import type { Arrival } from './arrival';
import type { MethodMeter } from './call-meters';

/**
 * All uses of private fields of grpc-js and Node. No public API gives the open HTTP/2 connections, the stream and the
 * connection of a call, the raw timeout of a call, or the read-ahead of a stream. The version of grpc-js is pinned,
 * `watchSessions` throws if a field is missing, and test/contract checks the behaviour.
 */

/** Passes a call to grpc-js. */
export type ServeStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
/** Gets each new call, and passes the call to `serve` now or later. */
export type LetIn = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, serve: ServeStream) => void;

/** Gets each TLS handshake that failed after the client had presented a certificate, with the error of TLS. */
export type OnRefusedHandshake = (peer: Peer, problem: string) => void;

export interface SessionWatcher {
  /** Gets each new connection. */
  readonly onConnection: (socket: Socket) => void;
  /** Gets a connection when it has its HTTP/2 session, with TLS: after the handshake. */
  readonly onSession: (session: ServerHttp2Session, socket: Socket) => void;
  readonly letIn: LetIn;
  readonly onRefusedHandshake?: OnRefusedHandshake | undefined;
}

/** Must be called once, after the server is bound and before clients learn the address. */
export function watchSessions(
  server: Server,
  { onConnection, onSession, letIn, onRefusedHandshake }: SessionWatcher,
): void {
  const http2Servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(http2Servers instanceof Map) || http2Servers.size === 0) {
    throw new Error('this version of @grpc/grpc-js has no field http2Servers; use the pinned version');
  }
  for (const http2Server of http2Servers.keys() as Iterable<Http2Server>) {
    takeOverStreams(http2Server, letIn);
    if (onRefusedHandshake !== undefined) watchHandshakes(http2Server, onRefusedHandshake);
    // Node makes the session in its own listener of these events. With TLS both events come, and the second event has
    // the TLS socket.
    let newest: Socket | undefined;
    const remember = (socket: Socket): void => void (newest = socket);
    http2Server.prependListener('connection', remember);
    http2Server.prependListener('connection', onConnection);
    http2Server.prependListener('secureConnection', remember);
    http2Server.on('session', (session) => {
      if (newest === undefined) throw new Error('this version of Node makes a session before its connection');
      peers.set(session, peerOfSocket(newest));
      onSession(session, newest);
    });
  }
}

/** The client at the other end of a connection. */
export interface Peer {
  /** Empty: a Unix socket, or a connection that was lost before it was known. */
  readonly address: string;
  /** The address and the port, or `unknown`. */
  readonly text: string;
}

const UNKNOWN_PEER: Peer = { address: '', text: 'unknown' };
/** Noted at the beginning of each connection, because a closed connection has no address. */
const peers = new WeakMap<object, Peer>();

/** The client of an open socket. */
export function peerOfSocket({ remoteAddress, remotePort }: Socket): Peer {
  if (remoteAddress === undefined) return UNKNOWN_PEER;
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return { address, text: `${address}:${remotePort ?? ''}` };
}

/** The client of an HTTP/2 session. */
export function peerOf(session: object): Peer {
  return peers.get(session) ?? UNKNOWN_PEER;
}

/** The listener of grpc-js no longer gets new streams from Node, but only from `letIn`. */
function takeOverStreams(http2Server: Http2Server, letIn: LetIn): void {
  const [serve, ...others] = http2Server.listeners('stream') as ServeStream[];
  if (serve === undefined || others.length > 0) {
    throw new Error('this version of @grpc/grpc-js does not listen once for streams; use the pinned version');
  }
  http2Server.removeAllListeners('stream');
  // @types/node does not know the fourth argument, the headers as they were sent.
  http2Server.on('stream', (stream, headers, _flags, rawHeaders: readonly string[] = []) => {
    keepRepeatedAuthorization(headers, rawHeaders);
    letIn(stream, headers, serve);
  });
}

/** A forged signature of a certificate ends the handshake, so no call tells of the certificate. */
function watchHandshakes(http2Server: Http2Server, onRefused: OnRefusedHandshake): void {
  http2Server.on('tlsClientError', ({ code = '' }: NodeJS.ErrnoException, socket: TLSSocket) => {
    // Other errors are of the network, or of clients that do not accept the server.
    if (!/^ERR_(SSL|OSSL)_/.test(code) || socket.getPeerX509Certificate() === undefined) return;
    onRefused(peerOfSocket(socket), code);
  });
}

interface SocketHandle {
  /** The bytes that the system has not taken yet. */
  readonly writeQueueSize: number;
  readStart(): void;
  readStop(): void;
}

function handleOf(session: Http2Session): SocketHandle | null | undefined {
  return (session.socket as unknown as { _handle?: SocketHandle | null })._handle;
}

/**
 * Stops or continues the reading of a connection. TCP then slows the client down. Node itself stops and continues the
 * reading in the same way while an answer cannot be written.
 */
export function setReading(session: Http2Session, reading: boolean): void {
  if (session.destroyed) return;
  const handle = handleOf(session);
  if (reading) handle?.readStart();
  else handle?.readStop();
}

/** True while the client does not take the answers that were sent. */
export function isWriting(session: Http2Session): boolean {
  return !session.destroyed && (handleOf(session)?.writeQueueSize ?? 0) > 0;
}

/** The arrival of a call that a handler has. Its connection is known, also over Unix sockets, and after its end. */
export function arrivalOf(grpcCall: object): Arrival {
  return (grpcCall as { call: IncomingCall }).call.arrival;
}

/**
 * The client certificate of an HTTP/2 session, and the error of its verification. Undefined: no certificate, or no TLS.
 * Only the connection itself is asked: headers with certificates are never believed, because any client can send them.
 */
export function peerCertificateOf(
  session: object,
): { readonly certificate: X509Certificate; readonly problem: string | undefined } | undefined {
  // A closed session throws at each use of its socket.
  if (isClosed(session)) return undefined;
  const socket = (session as Partial<Http2Session>).socket as Partial<TLSSocket> | undefined;
  const certificate = socket?.getPeerX509Certificate?.();
  if (socket === undefined || certificate === undefined) return undefined;
  if (socket.authorized === true) return { certificate, problem: undefined };
  return { certificate, problem: String(socket.authorizationError ?? 'not verified') };
}

/** Whether a connection is closed. Then nobody can ask for its certificate, and no event comes any more. */
export function isClosed(session: object): boolean {
  return (session as Partial<Http2Session>).destroyed !== false;
}

/** Ends a call with a status. Its handler is informed as if the client had cancelled the call. */
export function endCall(grpcCall: object, status: object): void {
  const { call } = grpcCall as { call?: IncomingCall };
  if (typeof call?.sendStatus !== 'function') {
    throw new Error('calls of this version of @grpc/grpc-js have other fields; use the pinned version');
  }
  endBegun(call, status);
}

/** As `endCall`, for the call of an interceptor. */
export function endBegun(call: IncomingCall, status: object): void {
  call.sendStatus(status);
  // grpc-js does not send a second status, but cancels the call for its handler.
  call.sendStatus(status);
}

/**
 * Resets the HTTP/2 stream of a call that ends now if its client has not read all messages after this time. The status
 * follows the messages, so the stream and its messages would otherwise stay in memory until the client closes the stream.
 */
export function resetUnread(grpcCall: object, afterMs: number): void {
  const stream = (grpcCall as { call?: Partial<IncomingCall> }).call?.stream;
  if (stream === undefined || stream.closed) return;
  const timer = setTimeout(() => {
    if (!stream.writableFinished) stream.close(constants.NGHTTP2_CANCEL);
  }, afterMs).unref();
  stream.once('close', () => clearTimeout(timer));
}

/** The private fields of a call of grpc-js that interceptors use. */
export interface IncomingCall {
  readonly stream: ServerHttp2Stream;
  /** Cuts the data of the stream into messages. */
  decoder: { write(data: Buffer): Buffer[] };
  /** The bound of a message after its decompression. */
  maxReceiveMessageSize: number;
  /** The headers of the request. */
  readonly metadata: Metadata;
  /** Counts the call. Not a field of grpc-js. */
  readonly meter?: MethodMeter | undefined;
  /** The call from its headers on. Not a field of grpc-js, but set by the first interceptor. */
  arrival: Arrival;
  /** Whether the headers of the answer were sent. */
  metadataSent: boolean;
  /** Ends the call. Does nothing if the call has ended. */
  sendStatus(status: object): void;
}

/** An interceptor receives the call before any data arrives. Throws if a field is missing. */
export function incomingCall(interceptedCall: object): IncomingCall {
  const call = interceptedCall as IncomingCall;
  const { decoder, maxReceiveMessageSize, metadataSent } = call;
  if (
    typeof decoder?.write !== 'function' ||
    typeof maxReceiveMessageSize !== 'number' ||
    typeof metadataSent !== 'boolean'
  )
    throw new Error('calls of this version of @grpc/grpc-js have other fields; use the pinned version');
  return call;
}

/** Sends the headers of an answer. grpc-js then sends none. */
export function sendHeaders(interceptedCall: object, headers: OutgoingHttpHeaders): void {
  const call = interceptedCall as IncomingCall;
  call.metadataSent = true;
  call.stream.respond(headers, ANSWER_OPTIONS);
}

const ANSWER_OPTIONS = { waitForTrailers: true, sendDate: false } as const;

/**
 * Sets how many messages of a client's stream are buffered ahead of the reader. The default of Node is 16 messages,
 * which may take 64 MiB. Node has no public API to change the value after the stream is created.
 */
export function setReadAhead(stream: Readable, messages: number): void {
  const { _readableState: state } = stream as unknown as { _readableState?: { highWaterMark: number } };
  if (state === undefined) throw new Error('streams of this version of Node have no field _readableState');
  state.highWaterMark = messages;
}

export type Address =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** The server cannot listen at the configured address. The message says why, in one sentence. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Binds the server. Resolves to the target that clients use. Its port is never 0. */
export async function listen(
  server: Server,
  address: Address,
  credentials: ServerCredentials,
): Promise<string> {
  if (address.kind === 'unix') {
    await removeStaleSocket(address.path);
    await bind(server, `unix:${address.path}`, credentials);
    return `unix:${address.path}`;
  }
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  const port = await bind(server, `${host}:${address.port}`, credentials);
  return `${host}:${port}`;
}

function bind(server: Server, target: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new ListenError(`cannot listen on ${target}: ${explain(error.message)}`, { cause: error }));
    });
  });
}

const EXPLANATIONS: readonly (readonly [RegExp, string])[] = [
  [/EADDRINUSE/, 'another program already listens there'],
  [/EACCES|EPERM/, 'this user has no permission'],
  [/EADDRNOTAVAIL/, 'this machine has no such address'],
  [/ENOENT/, 'the folder does not exist'],
  [/ENOTFOUND|EAI_AGAIN|resolution failed/i, 'the host name cannot be resolved'],
  [/EINVAL|ENAMETOOLONG/, 'the path is too long for a socket, or is not a path'],
];

/** Says why an address cannot be used, from the message of an error of Node or grpc-js. */
export function explain(message: string): string {
  return EXPLANATIONS.find(([pattern]) => pattern.test(message))?.[1] ?? message;
}

/**
 * Removes the socket file of a killed server, because no server can bind while the file exists. Throws for a socket
 * with a listener, and for any other kind of file.
 */
async function removeStaleSocket(path: string): Promise<void> {
  const stat = await lstat(path).catch(() => undefined);
  if (stat === undefined) return;
  if (!stat.isSocket()) {
    throw new ListenError(`cannot listen on unix:${path}: a file that is not a socket exists there`);
  }
  const problem = await connectProblem(path);
  if (problem === undefined) {
    throw new ListenError(`cannot listen on unix:${path}: another program already listens there`);
  }
  if (problem !== 'ECONNREFUSED') throw new ListenError(`cannot listen on unix:${path}: ${explain(problem)}`);
  await unlink(path);
}

/** Tries to connect. Resolves to the error code, or to undefined if the connection was accepted. */
function connectProblem(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}
