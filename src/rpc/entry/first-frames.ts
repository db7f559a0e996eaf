import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { peerOfSocket, type Peer } from './grpc-internals';

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
