import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

const SWEEP_MS = 1000;
/** The connections that are checked in one step, each in about 1 us. */
const STEP = 500;
const STEP_PAUSE_MS = 5;
/** What a connection may send in a second without any call: for example 19,000 frames of 13 bytes. */
const IDLE_BYTES = 256 * 1024;
/** The headers of a call, and the window of its request before the call begins. */
const CALL_BYTES = 16_384 + 65_536;
/** A client may answer each frame with two window updates, which are longer than the shortest message. */
const BYTES_PER_WRITTEN = 3;

/** What a connection has received and sent in all, as known at the last sweep. */
class Traffic {
  /** The calls since the last sweep. */
  calls = 0;
  /** The bytes of requests since the last sweep. */
  requestBytes = 0;
  received = 0;
  written = 0;

  constructor(readonly socket: Socket) {}
}

/**
 * Finds connections that send many frames which are no work: PRIORITY, WINDOW_UPDATE, SETTINGS, resets of calls that have
 * ended. Node reports no such frame, so what a connection receives is compared with its calls, its requests and what
 * the server has sent to it.
 */
export class IdleFrames {
  private readonly connections = new Map<Http2Session, Traffic>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onFlood: (session: Http2Session) => void) {}

  add(session: Http2Session, socket: Socket): void {
    this.connections.set(session, new Traffic(socket));
    session.once('close', () => this.connections.delete(session));
    this.timer ??= setTimeout(() => this.sweep(this.connections.entries()), SWEEP_MS).unref();
  }

  /** Notes a new call of the connection. */
  called(session: Http2Session): void {
    const traffic = this.connections.get(session);
    if (traffic !== undefined) traffic.calls += 1;
  }

  /** Notes a part of a request. */
  requested(session: object | undefined, bytes: number): void {
    const traffic = this.connections.get(session as Http2Session);
    if (traffic !== undefined) traffic.requestBytes += bytes;
  }

  private sweep(rest: IterableIterator<[Http2Session, Traffic]>): void {
    for (let count = 0; count < STEP; count += 1) {
      const next = rest.next();
      if (next.done === true) {
        this.timer =
          this.connections.size === 0
            ? undefined
            : setTimeout(() => this.sweep(this.connections.entries()), SWEEP_MS).unref();
        return;
      }
      const [session, traffic] = next.value;
      if (isFlood(traffic)) this.onFlood(session);
    }
    this.timer = setTimeout(() => this.sweep(rest), STEP_PAUSE_MS).unref();
  }
}

/** Compares what has come since the last sweep with what it was for. */
function isFlood(traffic: Traffic): boolean {
  const { socket, calls, requestBytes, received, written } = traffic;
  const { bytesRead, bytesWritten } = socket;
  const explained =
    IDLE_BYTES + calls * CALL_BYTES + requestBytes + (bytesWritten - written) * BYTES_PER_WRITTEN;
  traffic.calls = 0;
  traffic.requestBytes = 0;
  traffic.received = bytesRead;
  traffic.written = bytesWritten;
  return bytesRead - received > explained;
}
