import { constants } from 'node:http2';
import type { ServerInterceptor } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock';
import { HoldfastError } from '../../base/errors';
import { toCallStatus } from '../call-errors';
import type { Arrival } from './arrival';
import { incomingCall, type IncomingCall } from './grpc-js';
import type { Log } from '../../base/log';
import { MessageFraming } from './framing';
import { defaultIntakeLimits, UnfinishedRequest, UnfinishedRequests, type IntakeLimits } from './unfinished';

/** The bound of a request message, for all methods that have no bound of their own. No valid request is longer. */
export const MAX_REQUEST_BYTES = 65_536;

export interface RequestIntakeParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: IntakeLimits | undefined;
  /** Called for each call that is refused, before or while its requests arrive. */
  readonly onRefused?: OnRefused | undefined;
  /** Called for each part of a request, with its connection. */
  readonly onBytes?: ((connection: object, bytes: number) => void) | undefined;
}

/** `hasBegun`: the handler has the call already, because the call is a stream of requests. */
export type OnRefused = (call: Arrival, error: HoldfastError, hasBegun: boolean) => void;

/** Receives all requests of a server, and bounds the memory of requests that have not arrived completely. */
export class RequestIntake {
  readonly unfinished: UnfinishedRequests;

  constructor(private readonly parts: RequestIntakeParts) {
    const { clock, log, limits = defaultIntakeLimits } = parts;
    this.unfinished = new UnfinishedRequests(clock, limits, (count) => {
      log.warn({ count }, 'ended calls because their requests did not arrive, or took too much memory');
    });
  }

  /** Returns the call unchanged, because each wrapped call would cost time. */
  readonly interceptor: ServerInterceptor = (method, call) => {
    const { unfinished, parts } = this;
    const incoming = incomingCall(call);
    const { log, onRefused, onBytes } = parts;
    const maxBytes = incoming.arrival.kind.bytes ?? MAX_REQUEST_BYTES;
    const shared = { maxBytes, unfinished, log, onRefused, onBytes };
    if (method.requestStream) new StreamedRequest(incoming, shared).receive();
    else new SingleRequest(incoming, shared).receive();
    return call as ReturnType<ServerInterceptor>;
  };
}

interface RequestParts {
  readonly maxBytes: number;
  readonly unfinished: UnfinishedRequests;
  readonly log: Log;
  readonly onRefused: OnRefused | undefined;
  readonly onBytes: RequestIntakeParts['onBytes'];
}

abstract class IncomingRequest extends UnfinishedRequest {
  protected readonly framing = new MessageFraming(this);

  constructor(
    protected readonly call: IncomingCall,
    protected readonly parts: RequestParts,
  ) {
    super();
    call.decoder = this;
    call.maxReceiveMessageSize = parts.maxBytes;
  }

  /**
   * A request of a method without a bound of its own ends first. So a caller that is not proven yet cannot end the
   * large requests of others: the gate proves the callers of large requests first.
   */
  override get endsFirst(): boolean {
    return this.parts.maxBytes <= MAX_REQUEST_BYTES;
  }

  protected get connection(): object {
    return this.call.arrival.connection;
  }

  get paused(): boolean {
    return this.call.stream.isPaused();
  }

  abstract write(data: Buffer): Buffer[];

  protected received(data: Buffer): Buffer[] {
    this.parts.onBytes?.(this.connection, data.length);
    const messages = this.framing.write(data);
    if (this.call.meter !== undefined) this.call.meter.receivedCount += messages.length;
    return messages;
  }

  onLength(bytes: number): void {
    const { maxBytes, unfinished } = this.parts;
    if (bytes > maxBytes) this.refuse(tooLong(this.call.arrival.method, bytes, maxBytes));
    else unfinished.announce(this, bytes);
  }

  onGrowth(bytes: number): void {
    this.parts.unfinished.grow(this, bytes);
  }

  refuse(error: HoldfastError): boolean {
    const { call, parts } = this;
    this.framing.stop();
    const answered = call.stream.headersSent;
    call.sendStatus(toCallStatus(error, call.arrival.method, parts.log));
    parts.onRefused?.(call.arrival, error, !this.countsForConnection);
    // Otherwise the stream would stay open until the client ends its side. Node 20 may crash if a stream is closed while
    // its connection is read.
    if (!answered) setImmediate(() => call.stream.close(constants.NGHTTP2_NO_ERROR));
    return !answered;
  }

  abort(): void {
    this.call.stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** The request of a method with one request message. The request is complete at the client's half-close. */
class SingleRequest extends IncomingRequest {
  readonly countsForConnection = true;

  receive(): void {
    const { call, parts } = this;
    call.stream.on('end', () => parts.unfinished.finish(this));
    call.stream.on('close', () => {
      this.framing.stop();
      parts.unfinished.release(this);
    });
    parts.unfinished.begin(this, this.connection);
  }

  write(data: Buffer): Buffer[] {
    return this.received(data);
  }
}

/**
 * The requests of a method with a stream of request messages. A stream is counted only while a message has arrived in
 * part, because an idle stream is usual, and after the answer until the client closes the stream.
 */
class StreamedRequest extends IncomingRequest {
  /** The number of streams is bounded, and a client may need many imports on one connection. */
  readonly countsForConnection = false;
  private listening = false;

  receive(): void {
    const { stream } = this.call;
    stream.once('finish', () => {
      if (!stream.readableEnded) this.count();
    });
  }

  write(data: Buffer): Buffer[] {
    const messages = this.received(data);
    if (this.framing.partial) this.count();
    else this.parts.unfinished.release(this);
    return messages;
  }

  override onLength(bytes: number): void {
    // The message before this message is complete.
    this.parts.unfinished.release(this);
    if (this.parts.unfinished.isLarge(bytes)) this.count();
    super.onLength(bytes);
  }

  private count(): void {
    if (this.account !== undefined || this.call.stream.closed) return;
    this.parts.unfinished.begin(this, this.connection);
    if (this.listening) return;
    this.listening = true;
    this.call.stream.on('close', () => {
      this.framing.stop();
      this.parts.unfinished.release(this);
    });
  }
}

function tooLong(path: string, bytes: number, maxBytes: number): HoldfastError {
  const method = path.slice(path.lastIndexOf('/') + 1);
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `the request message is ${bytes} bytes; ${method} accepts at most ${maxBytes}; send less`,
    { metadata: { limit: String(maxBytes) } },
  );
}
