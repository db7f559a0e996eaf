import { setTimeout as sleep } from 'node:timers/promises';
import { constants, type Http2Session, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Metadata, status, type Server } from '@grpc/grpc-js';
import { HoldfastError } from '../../base/errors';
import { toCallStatus } from '../errors';
import type { CallGate } from './call-gate';
import type { CutCause } from './call-meters';
import { limitAge } from './connection-age';
import { FirstFrames } from './first-frames';
import { peerOf, watchSessions, type LetIn, type OnRefusedHandshake, type Peer } from './grpc-internals';
import { IdleFrames } from './idle-frames';
import { keepAlive, type KeepAliveTimes } from './keep-alive';
import type { Log } from '../../base/log';
import { OpenCalls } from './open-calls';

/**
 * Client libraries refuse a call with longer headers themselves, and Node resets the call of any other client. Without the
 * setting, headers of more than 64 kB end the whole connection, because their compression is an error of HTTP/2. The
 * wrapper of the calls has a lower bound (MAX_HEADER_BYTES), and answers with a reason.
 */
const SETTINGS = { maxHeaderListSize: 32_768 };
/** The time in which the last frames of a connection are sent (ms). */
const FAREWELL_MS = 500;

/**
 * Streams with clients that move to another connection by themselves. Such a stream continues after its connection has
 * reached its maximum age.
 */
export interface MovingStreams {
  readonly paths: ReadonlySet<string>;
  /** Asks the streams of a connection to move. May be called twice for a connection. */
  readonly leave: (connection: object) => void;
}

/**
 * The open connections of the server. Ends a connection without an answer to a ping. All calls of such a connection end
 * with UNAVAILABLE. The streams are not reset, because clients report a reset as INTERNAL, and do not retry.
 */
export class Connections {
  private readonly calls = new OpenCalls();
  private readonly open = new Map<ServerHttp2Session, Socket>();
  private readonly firstFrames = new FirstFrames((peer) => this.onCut('no-first-frame', peer));
  readonly idleFrames = new IdleFrames((session) => this.cut(session, 'idle-frames'));
  private whenNoneOpen: (() => void) | undefined;
  readonly interceptor = this.calls.interceptor;

  constructor(
    private readonly times: KeepAliveTimes,
    private readonly log: Log,
    private readonly moving: MovingStreams,
    private readonly onCut: (cause: CutCause, peer: Peer) => void,
    /** Undefined: connections may live for ever. */
    private readonly maxAgeMs?: number | undefined,
  ) {}

  /** Must be called once, after the server is bound and before clients learn the address. `gate` gets each new call. */
  watch(server: Server, gate: CallGate, onRefusedHandshake?: OnRefusedHandshake): void {
    const onSession = (session: ServerHttp2Session, socket: Socket) => {
      this.open.set(session, socket);
      this.firstFrames.began(session, socket);
      session.settings(SETTINGS);
      this.idleFrames.add(session, socket);
      gate.connected(session, peerOf(session).address);
      const onEnd = (): void => gate.disconnected(session);
      socket.once('end', onEnd).once('error', onEnd);
      session.once('close', () => this.forget(session));
      const cut = (error: HoldfastError): void => {
        this.endCalls(session, error);
        setTimeout(() => disconnect(socket), FAREWELL_MS).unref();
      };
      keepAlive(session, this.times, (problem) => cut(lost(problem)));
      if (this.maxAgeMs !== undefined) {
        limitAge(session, this.maxAgeMs, {
          endStreams: () => this.endStreams(session),
          cut: () => cut(tooOld()),
        });
      }
    };
    const onConnection = (socket: Socket): void => this.firstFrames.connected(socket);
    const letIn: LetIn = (stream, headers, serve) => {
      if (stream.session !== undefined) this.idleFrames.called(stream.session);
      gate.arrive(stream, headers, serve);
    };
    watchSessions(server, { onConnection, onSession, letIn, onRefusedHandshake });
  }

  /** Ends a connection, for a client that costs too much. Its leases and waits continue. Not while the socket is read. */
  cut(session: Http2Session, cause: CutCause): void {
    if (session.destroyed) return;
    this.onCut(cause, peerOf(session));
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** Resolves when no connection is open. Must be called once, after the server has stopped listening. */
  noneOpen(): Promise<void> {
    if (this.open.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.whenNoneOpen = resolve));
  }

  private forget(session: ServerHttp2Session): void {
    this.open.delete(session);
    if (this.open.size === 0) this.whenNoneOpen?.();
  }

  /** Ends all calls, and closes all connections. Resolves after at most `FAREWELL_MS`. */
  async closeAll(): Promise<void> {
    if (this.open.size === 0) return;
    // Node 20 crashes if a session is closed while it is read.
    await new Promise(setImmediate);
    const error = new HoldfastError('DRAINING', 'this server is stopping; open the stream on another server');
    const closed = [...this.open.keys()].map(
      (session) => new Promise<void>((resolve) => void session.once('close', resolve)),
    );
    for (const session of this.open.keys()) this.endCalls(session, error);
    await Promise.race([Promise.all(closed), sleep(FAREWELL_MS, undefined, { ref: false })]);
    for (const socket of this.open.values()) disconnect(socket);
  }

  /** Ends the calls that answer with a stream, or asks their clients to move. Calls with one answer continue. */
  private endStreams(session: ServerHttp2Session): void {
    this.moving.leave(session);
    this.calls.end(session, ({ path, responseStream }) =>
      responseStream && !this.moving.paths.has(path) ? toCallStatus(tooOld(), path, this.log) : undefined,
    );
  }

  /**
   * Ends all calls of a connection, which then closes itself when the last stream has ended. A call with one answer may
   * have been carried out, as after any broken connection, so its status has no reason.
   */
  private endCalls(session: ServerHttp2Session, error: HoldfastError): void {
    this.calls.end(session, ({ path, responseStream }) => {
      if (responseStream) return toCallStatus(error, path, this.log);
      return { code: status.UNAVAILABLE, details: error.message, metadata: new Metadata() };
    });
    session.close();
  }
}

function lost(problem: string): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    `the connection ${problem}: a lease or a wait continues; open the stream again`,
  );
}

function tooOld(): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    'the connection has reached its maximum age: a lease or a wait continues; open the stream again',
  );
}

/** Closes a socket without a reset of the open streams. Clients report the end of the socket as UNAVAILABLE. */
function disconnect(socket: Socket): void {
  socket.destroySoon();
  // Frames that a client does not read would keep the socket open.
  setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
}
