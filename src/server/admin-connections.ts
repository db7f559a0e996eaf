import { networkOf } from '../rpc/entry/arrival';
import type { Socket } from 'node:net';

/** Bounds of the open connections. */
export interface ConnectionLimits {
  /** For each IPv4 address, and for each IPv6 network of 64 bits. */
  readonly ofAddress: number;
  readonly ofServer: number;
  /** A connection that has just been accepted does not count yet, as long as there are no more of them than this. */
  readonly uncounted: number;
}

interface Client {
  readonly network: string;
  /** The connections without a whole request, in the order in which they began to wait for one. */
  readonly waiting: Set<Socket>;
  /** The connections whose request is being answered, the oldest first. */
  readonly answering: Set<Socket>;
}

interface Connection {
  readonly socket: Socket;
  /** Undefined: the connection does not count. */
  client: Client | undefined;
  isAnswering: boolean;
  isNew: boolean;
}

/**
 * Bounds the connections of the admin port, which needs no credential. A new connection is never refused. Instead, the
 * client at its bound, or the client with the most connections, loses the connection that has waited for the longest
 * time for its request. So slow connections cannot keep out a probe, which sends its request at once.
 */
export class AdminConnections {
  private readonly clients = new Map<string, Client>();
  private readonly connections = new WeakMap<Socket, Connection>();
  private counted = 0;
  private uncounted = 0;

  constructor(private readonly limits: ConnectionLimits) {}

  /**
   * Counts a new connection after the next reads. So a request that arrives with its connection is answered, however
   * many connections come at the same time.
   */
  admit(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? '');
    const connection: Connection = { socket, client: undefined, isAnswering: false, isNew: true };
    this.connections.set(socket, connection);
    this.uncounted += 1;
    socket.once('close', () => this.release(socket));
    const count = (): void => {
      if (connection.isNew) this.count(connection, network);
    };
    // The next turn of the event loop begins to read the connection. Then `setImmediate` runs once more.
    if (this.uncounted > this.limits.uncounted) count();
    else setImmediate(() => setImmediate(count));
  }

  /** A whole request has arrived. */
  began(socket: Socket): void {
    this.setAnswering(socket, true);
  }

  /** The answer is sent, and the connection may send another request. */
  answered(socket: Socket): void {
    this.setAnswering(socket, false);
  }

  /** The connection counts no longer. Safe to call twice. */
  release(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    this.connections.delete(socket);
    if (connection.isNew) this.uncounted -= 1;
    connection.isNew = false;
    const { client } = connection;
    if (client === undefined) return;
    client.waiting.delete(socket);
    client.answering.delete(socket);
    this.counted -= 1;
    if (sizeOf(client) === 0) this.clients.delete(client.network);
  }

  private count(connection: Connection, network: string): void {
    connection.isNew = false;
    this.uncounted -= 1;
    const client = this.clients.get(network) ?? { network, waiting: new Set(), answering: new Set() };
    this.clients.set(network, client);
    connection.client = client;
    (connection.isAnswering ? client.answering : client.waiting).add(connection.socket);
    this.counted += 1;
    if (sizeOf(client) > this.limits.ofAddress) this.closeOldestOf(client);
    else if (this.counted > this.limits.ofServer) this.closeOldestOf(this.busiest(client));
  }

  private busiest(client: Client): Client {
    let busiest = client;
    for (const one of this.clients.values()) if (sizeOf(one) > sizeOf(busiest)) busiest = one;
    return busiest;
  }

  private closeOldestOf({ waiting, answering }: Client): void {
    const [oldest] = waiting.size > 0 ? waiting : answering;
    if (oldest === undefined) return;
    this.release(oldest);
    oldest.destroy();
  }

  private setAnswering(socket: Socket, isAnswering: boolean): void {
    const connection = this.connections.get(socket);
    if (connection === undefined) return;
    connection.isAnswering = isAnswering;
    const { client } = connection;
    if (client === undefined) return;
    const [from, to] = isAnswering ? [client.waiting, client.answering] : [client.answering, client.waiting];
    from.delete(socket);
    to.add(socket);
  }
}

function sizeOf({ waiting, answering }: Client): number {
  return waiting.size + answering.size;
}
