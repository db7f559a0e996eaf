import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata, type Server, status } from '@grpc/grpc-js';
import { HoldfastError } from '../../base/errors';
import type { Log } from '../../base/log';
import { timeSpan } from '../../base/text';
import { nextTurn } from '../../flow/turns';
import { toCallStatus } from '../call-errors';
import { type CallKind, UNKNOWN_CALL } from './arrival';
import type { CutCause } from './call-meters';
import type { CallGate } from './gate';
import { type OnRefusedHandshake, type Peer, peerOf, type ServeStream, watchSessions } from './grpc-js';
import { Http2Arrival, Http2Source, surviveErrors } from './http2-arrival';
import { FirstFrames, IdleFrames } from './idle-connections';

/**
 * The ages of connections differ by up to this part of the maximum age, so that many clients do not reconnect
 * together.
 */
const JITTER = 0.1;
/** A stream that waited at the gate has begun, or was refused, within this time (ms). */
const GATE_MS = 1000;
/** Calls that are not streams have at least this time to end (ms). */
const LEAST_FAREWELL_MS = 60_000;

export interface OldConnection {
  /** Ends the streams of the connection that have begun. */
  readonly endStreams: () => void;
  /** Ends all calls, and cuts the connection. */
  readonly cut: () => void;
}

/**
 * Ends a connection that has reached `maxAgeMs`: announces the end, ends the streams, and lets all other calls
 * finish. Cuts the connection after `maxAgeMs` more, and at least `LEAST_FAREWELL_MS`. The option
 * grpc.max_connection_age_ms is not used, because it resets streams.
 *
 * The announcement is one GOAWAY with the id of the last accepted call, so the client repeats a call on its way on
 * another connection. A first GOAWAY with the largest id would promise to serve that call, but nghttp2 drops all new
 * streams after the first GOAWAY.
 */
export function limitAge(
  session: ServerHttp2Session,
  maxAgeMs: number,
  { endStreams, cut }: OldConnection,
): void {
  const ageMs = maxAgeMs * (1 - JITTER + 2 * JITTER * Math.random());
  const timers: NodeJS.Timeout[] = [];
  const after = (ms: number, work: () => void): void => void timers.push(setTimeout(work, ms).unref());
  after(ageMs, () => {
    session.close();
    endStreams();
    after(GATE_MS, endStreams);
    after(Math.max(maxAgeMs, LEAST_FAREWELL_MS), cut);
  });
  session.once('close', () => timers.forEach(clearTimeout));
}

interface KeepAliveTimes {
  /** From the answer to a ping until the next ping. */
  readonly timeMs: number;
  /** From a ping until a connection without an answer counts as silent. */
  readonly timeoutMs: number;
}

/**
 * Pings the client of a connection, and calls `onLost` once if a ping stays unanswered. `problem` completes a sentence
 * about the connection. The pings of grpc-js are not used, because a timeout there resets all streams with a code that
 * clients do not retry.
 *
 * Node cannot ping a client that has announced the end of the connection (GOAWAY). Such a connection counts as lost
 * after the time in which the pings would have found a lost connection. Otherwise the server could renew the leases of a
 * vanished client for ever.
 */
export function keepAlive(
  session: ServerHttp2Session,
  { timeMs, timeoutMs }: KeepAliveTimes,
  onLost: (problem: string) => void,
): void {
  let timer: NodeJS.Timeout;
  let endTimer: NodeJS.Timeout | undefined;
  let answered = true;
  const ping = (): void => {
    if (session.destroyed) return;
    answered = false;
    timer = setTimeout(expire, timeoutMs).unref();
    session.ping(() => {
      answered = true;
      clearTimeout(timer);
      if (!session.closed && !session.destroyed) wait();
    });
  };
  // Timers run before reads. After a pause of this process an unread answer is read before setImmediate.
  const expire = (): void =>
    void setImmediate(() => {
      if (!answered && !session.destroyed)
        onLost(`left an HTTP/2 ping unanswered for ${timeSpan(timeoutMs)}`);
    });
  const endSoon = (): void => {
    clearTimeout(timer);
    const ms = timeMs + timeoutMs;
    // A timer of its own, because the answer to an earlier ping stops the other timer.
    endTimer = setTimeout(() => onLost(`was to end, as the client said ${timeSpan(ms)} ago`), ms).unref();
  };
  const wait = (): void => {
    timer = setTimeout(ping, timeMs).unref();
  };
  session.once('goaway', endSoon);
  session.once('close', () => {
    clearTimeout(timer);
    clearTimeout(endTimer);
  });
  wait();
}

/**
 * Client libraries refuse a call with longer headers themselves, and Node resets the call of any other client. Without the
 * setting, headers of more than 64 kB end the whole connection, because their compression is an error of HTTP/2. The
 * wrapper of the calls has a lower bound (MAX_HEADER_BYTES), and answers with a reason.
 */
const SETTINGS = { maxHeaderListSize: 32_768 };
/** The time in which the last frames of a connection are sent (ms). */
const FAREWELL_MS = 500;

/**
 * The open connections of the server. Ends a connection without an answer to a ping. All calls of such a connection end
 * with UNAVAILABLE. The streams are not reset, because clients report a reset as INTERNAL, and do not retry.
 */
export class Connections {
  private readonly open = new Map<
    ServerHttp2Session,
    { readonly socket: Socket; readonly source: Http2Source }
  >();
  private readonly firstFrames = new FirstFrames((peer) => this.onCut('no-first-frame', peer));
  readonly idleFrames = new IdleFrames((session) => this.cut(session, 'idle-frames'));
  private whenNoneOpen: (() => void) | undefined;

  constructor(
    private readonly times: KeepAliveTimes,
    private readonly log: Log,
    /** Asks the streams of a connection to move, whose clients move them by themselves. May be called twice. */
    private readonly leave: (connection: object) => void,
    private readonly onCut: (cause: CutCause, peer: Peer) => void,
    /** Undefined: connections may live for ever. */
    private readonly maxAgeMs?: number | undefined,
  ) {}

  /**
   * Must be called once, after the server is bound and before clients learn the address. `gate` gets each new call.
   * @param kinds the calls of the server, by path
   */
  watch(
    server: Server,
    gate: CallGate,
    kinds: ReadonlyMap<string, CallKind>,
    onRefusedHandshake: OnRefusedHandshake,
  ): void {
    const onSession = (session: ServerHttp2Session, socket: Socket) => {
      const source = new Http2Source(session, () => this.cut(session, 'unread-answers'));
      this.open.set(session, { socket, source });
      this.firstFrames.began(session, socket);
      session.settings(SETTINGS);
      this.idleFrames.add(session, socket);
      gate.connected(source);
      const onEnd = (): void => gate.disconnected(source);
      socket.once('end', onEnd).once('error', onEnd);
      session.once('close', () => {
        gate.closed(source);
        this.forget(session);
      });
      const cut = (error: HoldfastError): void => {
        this.endCalls(source, error);
        setTimeout(() => disconnect(socket), FAREWELL_MS).unref();
      };
      keepAlive(session, this.times, (problem) => cut(lost(problem)));
      if (this.maxAgeMs !== undefined) {
        limitAge(session, this.maxAgeMs, {
          endStreams: () => this.endStreams(source),
          cut: () => cut(tooOld()),
        });
      }
    };
    const onConnection = (socket: Socket): void => this.firstFrames.connected(socket);
    const letIn = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, serve: ServeStream): void => {
      const source = this.open.get(stream.session as ServerHttp2Session)?.source;
      if (source === undefined) return surviveErrors(stream); // the connection was lost in the meantime
      this.idleFrames.called(source.session);
      const kind = kinds.get(String(headers[':path'])) ?? UNKNOWN_CALL;
      gate.arrive(new Http2Arrival(stream, headers, serve, kind, source));
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
    await nextTurn();
    const error = new HoldfastError('DRAINING', 'this server is stopping; open the stream on another server');
    const closed = [...this.open.keys()].map(
      (session) => new Promise<void>((resolve) => void session.once('close', resolve)),
    );
    for (const { source } of this.open.values()) this.endCalls(source, error);
    await Promise.race([Promise.all(closed), sleep(FAREWELL_MS, undefined, { ref: false })]);
    for (const { socket } of this.open.values()) disconnect(socket);
  }

  /** Ends the calls that answer with a stream, or asks their clients to move. Calls with one answer continue. */
  private endStreams(source: Http2Source): void {
    this.leave(source.session);
    source.end(({ method, kind }) =>
      kind.responseStream === true && kind.moves !== true
        ? toCallStatus(tooOld(), method, this.log)
        : undefined,
    );
  }

  /**
   * Ends all calls of a connection, which then closes itself when the last stream has ended. A call with one answer may
   * have been carried out, as after any broken connection, so its status has no reason.
   */
  private endCalls(source: Http2Source, error: HoldfastError): void {
    source.end(({ method, kind }) => {
      if (kind.responseStream === true) return toCallStatus(error, method, this.log);
      return { code: status.UNAVAILABLE, details: error.message, metadata: new Metadata() };
    });
    source.session.close();
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
