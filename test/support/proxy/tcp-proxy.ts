import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import {
  type ConnectionHooks,
  type LaneState,
  ProxyConnection,
  type RedisCommand,
  type Verdict,
} from './proxy-connection';

export type { RedisCommand } from './proxy-connection';

/** The direction of bytes: from clients to the target, back, or both. */
export type Direction = 'toTarget' | 'toClient' | 'both';

export interface ProxyOptions {
  /** The target's port on the loopback address. */
  readonly targetPort: number;
  /** With `redis`, the proxy parses commands and replies and can count and drop them. With `tcp`, it parses nothing. */
  readonly protocol: 'redis' | 'tcp';
  /** The address of the proxy itself. Default: a free port of 127.0.0.1. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
}

interface Trap {
  readonly verdict: Verdict;
  readonly matches: (command: RedisCommand) => boolean;
  readonly onCaught: (command: RedisCommand) => void;
}

interface ProxyEvents {
  connection: [];
  command: [RedisCommand];
}

/**
 * A TCP proxy in this process that can delay, hold, cut and refuse connections. A change applies to open connections
 * too. `passEverything()` ends all faults.
 */
export class TcpProxy extends EventEmitter<ProxyEvents> {
  readonly bytes = { toTarget: 0, toClient: 0 };
  connectionCount = 0;
  private readonly lanes: { toTarget: LaneState; toClient: LaneState } = {
    toTarget: { delayMs: 0, held: false },
    toClient: { delayMs: 0, held: false },
  };
  private readonly connections = new Set<ProxyConnection>();
  private readonly counts = new Map<string, number>();
  private traps: Trap[] = [];
  private refusing = false;
  private targetPort: number;

  private constructor(
    private readonly server: Server,
    private readonly options: ProxyOptions,
  ) {
    super();
    this.targetPort = options.targetPort;
  }

  /** Changes the target of later connections. Open connections keep their target. */
  leadTo(port: number): void {
    this.targetPort = port;
  }

  static async open(options: ProxyOptions): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true });
    const proxy = new TcpProxy(server, options);
    server.on('connection', (client) => proxy.accept(client));
    const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 };
    server.listen(port, host);
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The address of the proxy, as "127.0.0.1:port". */
  get address(): string {
    return `${(this.server.address() as AddressInfo).address}:${this.port}`;
  }

  get openConnections(): number {
    return this.connections.size;
  }

  /** The number of commands of this name that have passed. */
  commandCount(name: string): number {
    return this.counts.get(name.toUpperCase()) ?? 0;
  }

  /** Delays every byte by this time (ms). 0 ends the delay. */
  delay(direction: Direction, ms: number): void {
    this.change(direction, { delayMs: ms });
  }

  /**
   * Holds all bytes and all ends of streams. New connections seem to open. `passEverything()` delivers the held bytes
   * late, as after a network partition. `cutAll()` discards them.
   */
  blackHole(direction: Direction): void {
    this.change(direction, { held: true });
  }

  /** Ends delays, black holes and refusals. */
  passEverything(): void {
    this.refusing = false;
    this.change('both', { held: false, delayMs: 0 });
  }

  /** Resets every open connection. New connections are accepted. */
  cutAll(): void {
    for (const connection of [...this.connections]) connection.cut();
  }

  /** Resets new connections immediately. Open connections stay. */
  refuseNew(refuse = true): void {
    this.refusing = refuse;
  }

  /**
   * Drops the reply of the next matching command, which Redis executes, and cuts the connection. Resolves to the
   * command at the cut. Earlier replies on the connection arrive.
   */
  dropNextReply(matches: (command: RedisCommand) => boolean): Promise<RedisCommand> {
    return this.setTrap('drop-reply', matches);
  }

  /** Cuts the connection before the next matching command, so that the command never reaches Redis. */
  dropNextRequest(matches: (command: RedisCommand) => boolean): Promise<RedisCommand> {
    return this.setTrap('drop-request', matches);
  }

  /** Cancels all drops of replies and requests that have not happened yet. */
  forgetTraps(): void {
    this.traps = [];
  }

  async close(): Promise<void> {
    this.refusing = true;
    this.cutAll();
    this.server.close();
    await once(this.server, 'close');
  }

  private setTrap(verdict: Verdict, matches: (command: RedisCommand) => boolean): Promise<RedisCommand> {
    if (this.options.protocol !== 'redis')
      throw new Error('only a proxy with protocol "redis" can drop commands');
    return new Promise((resolve) => this.traps.push({ verdict, matches, onCaught: resolve }));
  }

  private change(direction: Direction, state: Partial<LaneState>): void {
    if (direction !== 'toClient') Object.assign(this.lanes.toTarget, state);
    if (direction !== 'toTarget') Object.assign(this.lanes.toClient, state);
    for (const connection of [...this.connections]) connection.deliver();
  }

  private accept(client: Socket): void {
    if (this.refusing) {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const target = connect({ port: this.targetPort, host: '127.0.0.1', allowHalfOpen: true });
    this.connections.add(new ProxyConnection(client, target, this.newHooks()));
    this.connectionCount++;
    this.emit('connection');
  }

  private newHooks(): ConnectionHooks {
    let caught: { trap: Trap; command: RedisCommand } | undefined;
    return {
      ...this.lanes,
      bytes: (direction, count) => (this.bytes[direction] += count),
      command:
        this.options.protocol === 'tcp'
          ? undefined
          : (command) => {
              this.counts.set(command.name, this.commandCount(command.name) + 1);
              this.emit('command', command);
              const trap = caught ? undefined : this.traps.find((one) => one.matches(command));
              if (!trap) return 'pass';
              this.traps = this.traps.filter((one) => one !== trap);
              caught = { trap, command };
              return trap.verdict;
            },
      dropped: () => caught?.trap.onCaught(caught.command),
      closed: (connection) => this.connections.delete(connection),
    };
  }
}
