import type { Http2Session, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { type Peer, peerOfSocket } from './grpc-js';

/** From the TCP connection until the client's first HTTP/2 frame, with the TLS handshake (ms). */
const FIRST_FRAME_MS = 10_000;

/**
 * Ends connections whose clients do not finish the TLS handshake, or do not send the first frame of HTTP/2, in time. The
 * timers of TLS start again with each byte, so a slow client could keep its connection for hours.
 */
export class FirstFrames {
  /** By the address of the client, because Node gives an HTTP/2 session with TLS another socket. */
  private readonly timers = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly onLate: (peer: Peer) => void,
    private readonly timeoutMs = FIRST_FRAME_MS,
  ) {}

  connected(socket: Socket): void {
    const client = addressOf(socket);
    if (client === undefined) return;
    const peer = peerOfSocket(socket);
    const timer = setTimeout(() => {
      this.settle(client, timer);
      if (!socket.destroyed) this.onLate(peer);
      socket.destroy();
    }, this.timeoutMs).unref();
    this.timers.set(client, timer);
    socket.once('close', () => this.settle(client, timer));
  }

  /** `socket` is the socket of the session. */
  began(session: ServerHttp2Session, socket: Socket): void {
    const client = addressOf(socket);
    const timer = client === undefined ? undefined : this.timers.get(client);
    if (client !== undefined && timer !== undefined)
      session.once('remoteSettings', () => this.settle(client, timer));
  }

  private settle(client: string, timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    if (this.timers.get(client) === timer) this.timers.delete(client);
  }
}

/** Undefined: a Unix socket, or a connection that has ended. */
function addressOf({ remoteAddress, remotePort, localPort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort} ${localPort}`;
}

const SWEEP_MS = 1000;
/** The connections that are checked in one step, each in about 1 us. */
const STEP = 500;
const STEP_PAUSE_MS = 5;
/** What a connection may send in each second for no reason: for example 19,000 frames of 13 bytes. */
const IDLE_BYTES = 256 * 1024;
/** The bytes without a reason above which a connection is cut. Requests that the server does not read yet are among them. */
const MOST_IDLE_BYTES = 4 * 1024 * 1024;
/** How far the reasons of a connection may exceed its bytes. */
const MOST_CREDIT = 8 * 1024 * 1024;
/** The headers of a call, and the window of its request before the call begins. */
const CALL_BYTES = 16_384 + 65_536;
/** The heads of the frame and of the TLS record with a part of a request. */
const HEAD_BYTES = 64;
/** A client may answer each frame with two window updates, which are longer than the shortest message. */
const BYTES_PER_WRITTEN = 3;
/** The acknowledgements that Node writes by itself. They explain nothing, or else a flood of pings would explain itself. */
const [PING_BYTES, SETTINGS_BYTES] = [17, 9];

/** What a connection has received and sent in all, as known at the last sweep. */
class Traffic {
  /** The bytes that calls and requests since the last sweep explain. */
  explained = 0;
  /** The bytes without a reason. Negative: further bytes have a reason already. */
  idle = 0;
  received = 0;
  written = 0;

  constructor(readonly socket: Socket) {}
}

/**
 * Finds connections that send many frames which are no work: PRIORITY, WINDOW_UPDATE, SETTINGS, PING, resets of calls that
 * have ended. Node reports no such frame, so what a connection receives is compared with its calls, its requests and what
 * the server has sent to it.
 */
export class IdleFrames {
  private readonly connections = new Map<Http2Session, Traffic>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onFlood: (session: Http2Session) => void) {}

  add(session: Http2Session, socket: Socket): void {
    const traffic = new Traffic(socket);
    this.connections.set(session, traffic);
    session.on('ping', () => (traffic.explained -= PING_BYTES * BYTES_PER_WRITTEN));
    session.on('remoteSettings', () => (traffic.explained -= SETTINGS_BYTES * BYTES_PER_WRITTEN));
    session.once('close', () => this.connections.delete(session));
    this.timer ??= setTimeout(() => this.sweep(this.connections.entries()), SWEEP_MS).unref();
  }

  /** Notes a new call of the connection. */
  called(session: Http2Session): void {
    const traffic = this.connections.get(session);
    if (traffic !== undefined) traffic.explained += CALL_BYTES;
  }

  /** Notes a part of a request. */
  requested(session: object | undefined, bytes: number): void {
    const traffic = this.connections.get(session as Http2Session);
    if (traffic !== undefined) traffic.explained += bytes + HEAD_BYTES;
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
  const { socket, received, written } = traffic;
  const { bytesRead, bytesWritten } = socket;
  const idle =
    traffic.idle + bytesRead - received - traffic.explained - (bytesWritten - written) * BYTES_PER_WRITTEN;
  traffic.idle = idle > 0 ? Math.max(0, idle - IDLE_BYTES) : Math.max(idle, -MOST_CREDIT);
  traffic.explained = 0;
  traffic.received = bytesRead;
  traffic.written = bytesWritten;
  return traffic.idle > MOST_IDLE_BYTES;
}
