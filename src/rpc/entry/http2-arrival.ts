import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Metadata } from '@grpc/grpc-js';
import type { PresentedCertificate } from '../../access/caller';
import type { HoldfastError } from '../../base/errors';
import { type CallTrace, traceOf, traceOfHeaders } from '../../base/log';
import { type CallStatus, refusalHeaders } from '../call-errors';
import { Arrival, type CallKind, CallSource, networkOf } from './arrival';
import {
  endBegun,
  type IncomingCall,
  isWriting,
  peerCertificateOf,
  peerOf,
  type ServeStream,
  setReading,
} from './grpc-js';

/** The door of gRPC: calls that arrive as streams of HTTP/2, and are served by grpc-js. */

/** grpc-js computes timeouts in 32 bits. A timeout above 24.8 days overflows, and the call ends immediately. */
const LONGEST_TIMEOUT_DAYS = 24;
const LONGEST_TIMEOUT_SECONDS = LONGEST_TIMEOUT_DAYS * 86_400;
const MS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** The header has at most eight digits. */
const LARGEST_AMOUNT = 99_999_999;

/** The time within which the client wants its answer (ms). Undefined: the header `grpc-timeout` is absent or invalid. */
export function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const timeout = headers['grpc-timeout'];
  if (typeof timeout !== 'string') return undefined;
  const perUnit = MS_OF_UNIT[timeout.charAt(timeout.length - 1)];
  if (perUnit === undefined) return undefined;
  const amount = Number.parseInt(timeout, 10);
  return Number.isNaN(amount) ? undefined : amount * perUnit;
}

/** Shortens a timeout that is too long for grpc-js. */
export function clampTimeout(headers: IncomingHttpHeaders): void {
  const ms = timeoutMs(headers);
  if (ms !== undefined && ms > LONGEST_TIMEOUT_SECONDS * 1000) {
    headers['grpc-timeout'] = `${LONGEST_TIMEOUT_SECONDS}S`;
  }
}

/** Subtracts the time that a call has waited from its timeout. A timeout of more than a day is not changed. */
export function shortenTimeout(headers: IncomingHttpHeaders, waitedMs: number): void {
  const ms = timeoutMs(headers);
  if (ms === undefined || ms > LARGEST_AMOUNT) return;
  headers['grpc-timeout'] = `${Math.max(1, Math.floor(ms - waitedMs))}m`;
}

/** A connection of HTTP/2. */
export class Http2Source extends CallSource {
  /** The calls that grpc-js has begun. */
  private readonly begun = new Set<IncomingCall>();

  constructor(
    readonly session: ServerHttp2Session,
    /** Cuts the connection, and counts the cut. */
    private readonly cutOff: () => void,
  ) {
    super(networkOf(peerOf(session).address));
  }

  get isOpen(): boolean {
    return !this.session.destroyed;
  }

  get isWriting(): boolean {
    return isWriting(this.session);
  }

  setReading(reading: boolean): void {
    setReading(this.session, reading);
  }

  cut(): void {
    this.cutOff();
  }

  /** grpc-js has begun the call. */
  began(call: IncomingCall): void {
    this.begun.add(call);
    call.stream.on('close', () => this.begun.delete(call));
  }

  /**
   * Ends the begun calls for which there is a status. The handlers are informed immediately, even if no status can reach
   * the client.
   */
  end(statusFor: (call: Arrival) => CallStatus | undefined): void {
    for (const call of this.begun) {
      const status = statusFor(call.arrival);
      if (status !== undefined) endBegun(call, status);
    }
  }
}

/**
 * A reset stream emits 'error', and without a listener this event ends the process. grpc-js adds its listener later.
 */
export function surviveErrors(stream: ServerHttp2Stream): void {
  stream.on('error', () => undefined);
}

const REFUSED = { endStream: true, sendDate: false };
/** The headers of errors that many calls get. */
const headersOf = new WeakMap<HoldfastError, OutgoingHttpHeaders>();

function refusalOf(error: HoldfastError): OutgoingHttpHeaders {
  let headers = headersOf.get(error);
  if (headers === undefined) headersOf.set(error, (headers = refusalHeaders(error)));
  return headers;
}

/** The call that grpc-js begins at this moment. Its interceptors run before `serve` returns. */
let beginning: Http2Arrival | undefined;

/** Gives the call its arrival. For the first interceptor, before any data of the call. */
export function beginArrival(call: IncomingCall): void {
  if (beginning?.stream !== call.stream) {
    throw new Error('this version of @grpc/grpc-js begins calls later; use the pinned version');
  }
  beginning.begun(call);
}

/** A call of gRPC. */
export class Http2Arrival extends Arrival {
  readonly method: string;
  readonly connection: object;
  /** Undefined: grpc-js has made `metadata` of them, so that an open stream keeps them once. */
  private headers: IncomingHttpHeaders | undefined;
  private metadata: Metadata | undefined;
  private isHeld = false;

  constructor(
    readonly stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    private readonly serveStream: ServeStream,
    kind: CallKind,
    private readonly http2: Http2Source,
  ) {
    super(kind, http2);
    this.method = String(headers[':path']);
    this.connection = http2.session;
    this.headers = headers;
    clampTimeout(headers);
  }

  get peer(): string {
    return peerOf(this.connection).text;
  }

  get trace(): CallTrace {
    const { headers, metadata } = this;
    return metadata === undefined ? traceOfHeaders(headers ?? {}) : traceOf(metadata);
  }

  get authorization(): readonly string[] {
    const { headers, metadata } = this;
    if (metadata !== undefined) return metadata.get('authorization') as string[];
    return [headers?.authorization ?? []].flat();
  }

  peerCertificate(): PresentedCertificate | undefined {
    return peerCertificateOf(this.connection);
  }

  get timeoutMs(): number | undefined {
    return this.headers && timeoutMs(this.headers);
  }

  get isClosed(): boolean {
    return this.stream.closed || this.stream.destroyed;
  }

  hold(): void {
    if (!this.isHeld) surviveErrors(this.stream);
    this.isHeld = true;
  }

  serve(waitedMs: number): void {
    const { stream, headers = {} } = this;
    if (waitedMs > 0) shortenTimeout(headers, waitedMs);
    // The stream of a call without a message may end while the call waits. grpc-js must see this end too.
    const hasEnded = this.isHeld && stream.readableEnded;
    beginning = this;
    try {
      this.serveStream(stream, headers);
    } finally {
      beginning = undefined;
    }
    if (hasEnded) stream.emit('end');
  }

  /** grpc-js has begun the call. */
  begun(call: IncomingCall): void {
    call.arrival = this;
    this.metadata = call.metadata;
    this.headers = undefined;
    this.http2.began(call);
  }

  refuse(error: HoldfastError): void {
    const { stream } = this;
    if (this.isClosed) return;
    stream.respond(refusalOf(error), REFUSED);
    // A client that does not end its message would keep the stream open.
    if (stream.state.remoteClose === 1) stream.resume();
    else stream.close(constants.NGHTTP2_NO_ERROR);
  }

  onClose(listener: () => void): void {
    this.stream.once('close', listener);
  }
}
