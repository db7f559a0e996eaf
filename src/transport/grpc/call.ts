import type { EventEmitter } from 'node:events';
import type {
  handleBidiStreamingCall,
  handleClientStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import type { Call } from '../../engine/call';
import type { Clock } from '../../engine/clock';
import { HoldfastError } from '../../engine/errors';
import { toCallStatus, type CallStatus } from './errors';
import { connectionOf } from './grpc-internals';
import { Incoming } from './incoming';
import type { Log } from './log';

/** Of a call's headers, names and values together. More is no metadata but an attack, or a mistake. */
export const MAX_HEADER_BYTES = 16_384;

const RETRY_HEADER = 'grpc-previous-rpc-attempts';

export interface CallContext {
  readonly clock: Clock;
  readonly log: Log;
}

export type UnaryHandler<Request, Response> = (request: Request, call: Call) => Promise<Response>;

/** Resolves: the stream ends OK; rejects: with that status. It has written all its messages by then. */
export type StreamHandler<Request, Message> = (
  request: Request,
  call: Call,
  stream: ServerWritableStream<Request, Message>,
) => Promise<void>;

/** Its messages are read as it asks for them. */
export type ClientStreamHandler<Request, Response> = (
  requests: Incoming<Request>,
  call: Call,
) => Promise<Response>;

/** As a StreamHandler; it reads the client's messages from the stream itself. */
export type BidiHandler<Request, Message> = (
  stream: ServerDuplexStream<Request, Message>,
  call: Call,
) => Promise<void>;

type Streaming = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
type Single = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
type Surface = Streaming | Single;

/**
 * The wrapper around every unary handler. It answers exactly once, and nothing that a handler throws or
 * rejects with gets past it: grpc-js would leave the call hanging and end the process.
 */
export function unary<Request, Response>(
  context: CallContext,
  handler: UnaryHandler<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (surface, callback) =>
    void serveSingle(context, surface, callback, (call) => handler(surface.request, call));
}

/** The wrapper around every handler that reads a stream and answers once. */
export function clientStream<Request, Response>(
  context: CallContext,
  handler: ClientStreamHandler<Request, Response>,
): handleClientStreamingCall<Request, Response> {
  return (surface, callback) =>
    void serveSingle(context, surface, callback, (call) => handler(new Incoming(surface), call));
}

async function serveSingle<Response>(
  context: CallContext,
  surface: Single,
  callback: sendUnaryData<Response>,
  handle: (call: Call) => Promise<Response>,
): Promise<void> {
  const call = new ServedCall(surface, context);
  let response: Response;
  try {
    checkHeaderSize(surface.metadata);
    response = await handle(call);
  } catch (error) {
    call.end();
    guard(context, surface, () => callback(toCallStatus(error, surface.getPath(), context.log)));
    return;
  }
  call.end();
  guard(context, surface, () => callback(null, response));
}

/** The wrapper around every handler that streams its answer. */
export function serverStream<Request, Message>(
  context: CallContext,
  handler: StreamHandler<Request, Message>,
): handleServerStreamingCall<Request, Message> {
  return (surface) => void serveStream(context, surface, (call) => handler(surface.request, call, surface));
}

/** The wrapper around every handler that streams both ways. Nothing of the client's is read before it listens. */
export function bidi<Request, Message>(
  context: CallContext,
  handler: BidiHandler<Request, Message>,
): handleBidiStreamingCall<Request, Message> {
  return (surface) => void serveStream(context, surface, (call) => handler(surface, call));
}

async function serveStream(
  context: CallContext,
  surface: Streaming,
  handle: (call: Call) => Promise<void>,
): Promise<void> {
  const call = new ServedCall(surface, context);
  let failure: CallStatus | undefined;
  try {
    checkHeaderSize(surface.metadata);
    // A server that was stopped finds the call and its cancellation in the same read. A stream takes a lease over
    // from another one, so it must not do so for a client that has left: by the next turn it would know.
    await new Promise(setImmediate);
    if (!surface.cancelled) await handle(call);
  } catch (error) {
    failure = toCallStatus(error, surface.getPath(), context.log);
  }
  call.end();
  guard(context, surface, () => {
    // grpc-js makes the status of a stream from its 'error'; it sends it after all that was written.
    if (failure === undefined) surface.end();
    else surface.emit('error', failure);
  });
}

/** The answer is grpc-js's business now; should it throw, there is nobody left to tell but the log. */
function guard(context: CallContext, surface: Surface, answer: () => void): void {
  try {
    answer();
  } catch (error) {
    context.log.error({ err: error, method: surface.getPath() }, 'answer could not be sent');
  }
}

function checkHeaderSize(metadata: Metadata): void {
  let bytes = 0;
  const headers = metadata.toJSON();
  for (const name in headers) {
    for (const value of headers[name] ?? []) bytes += name.length + value.length;
  }
  if (bytes <= MAX_HEADER_BYTES) return;
  throw new HoldfastError(
    'QUOTA_EXCEEDED',
    `the call's headers are ${bytes} bytes; at most ${MAX_HEADER_BYTES} are accepted: send less metadata`,
    { metadata: { limit: String(MAX_HEADER_BYTES) } },
  );
}

/** What the engine sees of a call; whatever few calls need is found only when it is asked for. */
class ServedCall implements Call {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  private knownConnection: object | undefined;
  private answered = false;

  constructor(
    private readonly surface: Surface,
    private readonly context: CallContext,
  ) {
    this.receivedAt = context.clock.now();
    // grpc-js keeps the deadline as a time of day, so the span is taken from it at once, before a clock steps.
    const deadline = surface.getDeadline();
    this.timeoutMs = deadline === Infinity ? undefined : Number(deadline) - Date.now();
  }

  get connection(): object {
    // A call whose stream is closed already is alone on its connection.
    this.knownConnection ??= connectionOf(this.surface) ?? {};
    return this.knownConnection;
  }

  get transportRetry(): boolean {
    return this.surface.metadata.get(RETRY_HEADER).length > 0;
  }

  get cancelled(): boolean {
    return this.surface.cancelled && !this.answered;
  }

  onCancelled(listener: () => void): void {
    const run = (): void => {
      // grpc-js emits 'cancelled' after every call, those that were answered too.
      if (this.answered) return;
      try {
        listener();
      } catch (error) {
        const method = this.surface.getPath();
        this.context.log.error({ err: error, method }, 'listener of a cancelled call failed');
      }
    };
    if (this.surface.cancelled) run();
    else (this.surface as EventEmitter).once('cancelled', run);
  }

  /** The handler is through: what comes from here on is no cancellation. */
  end(): void {
    this.answered = !this.surface.cancelled;
  }
}
