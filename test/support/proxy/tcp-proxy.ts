import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ProxyConnection, type ConnectionHooks, type RedisCommand, type Verdict } from './proxy-connection';
import type { LaneState } from './proxy-lane';

export type { RedisCommand } from './proxy-connection';

/** The way of a client's bytes to the target, the way back, or both. */
export type Direction = 'toTarget' | 'toClient' | 'both';

export interface ProxyOptions {
  /** Where the connections go: a port of the loopback address. */
  readonly targetPort: number;
  /** `redis` reads commands and replies, which counting and dropping them takes; `tcp` reads nothing. */
  readonly protocol: 'redis' | 'tcp';
}

interface Trap {
  readonly verdict: Verdict;
  readonly matches: (command: RedisCommand) => boolean;
  readonly sprung: (command: RedisCommand) => void;
}

interface ProxyEvents {
  connection: [];
  command: [RedisCommand];
}

/**
 * A TCP proxy in this process that misbehaves as it is told: slow, one-way, silent, cut, closed. Connections
 * that are open change with it. `passEverything()` heals it.
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

  /** Whoever connects from now on gets there: an address that moves. Open connections stay where they are. */
  leadTo(port: number): void {
    this.targetPort = port;
  }

  static async open(options: ProxyOptions): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true });
    const proxy = new TcpProxy(server, options);
    server.on('connection', (client) => proxy.accept(client));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** "127.0.0.1:port" */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get openConnections(): number {
    return this.connections.size;
  }

  /** How often a command has passed, by its name in capitals. */
  commandCount(name: string): number {
    return this.counts.get(name.toUpperCase()) ?? 0;
  }

  /** From now on every byte arrives this much later; 0: no delay. */
  delay(direction: Direction, ms: number): void {
    this.change(direction, { delayMs: ms });
  }

  /**
   * Nothing arrives any more, not even that a side has closed; new connections seem to open. After
   * `passEverything()` it all arrives late, as after a network's partition; `cutAll()` loses it.
   */
  blackHole(direction: Direction): void {
    this.change(direction, { held: true });
  }

  /** No delay, no black hole, no refusal. */
  passEverything(): void {
    this.refusing = false;
    this.change('both', { held: false, delayMs: 0 });
  }

  /** Resets every connection that is open; new ones are accepted. */
  cutAll(): void {
    for (const connection of [...this.connections]) connection.cut();
  }

  /** Resets new connections at once, those that are open stay. */
  refuseNew(refuse = true): void {
    this.refusing = refuse;
  }

  /**
   * The next matching command reaches Redis and is carried out; its reply is dropped and the connection cut.
   * Resolves with that command when it has happened. Replies before it, on the same connection, arrive.
   */
  dropNextReply(matches: (command: RedisCommand) => boolean): Promise<RedisCommand> {
    return this.setTrap('drop-reply', matches);
  }

  /** The next matching command never reaches Redis: the connection is cut in front of it. */
  dropNextRequest(matches: (command: RedisCommand) => boolean): Promise<RedisCommand> {
    return this.setTrap('drop-request', matches);
  }

  /** What was to be dropped and has not come passes. */
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
    if (this.options.protocol !== 'redis') throw new Error('only a proxy of protocol "redis" sees commands');
    return new Promise((resolve) => this.traps.push({ verdict, matches, sprung: resolve }));
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
    this.connections.add(new ProxyConnection(client, target, this.hooksOfOne()));
    this.connectionCount++;
    this.emit('connection');
  }

  private hooksOfOne(): ConnectionHooks {
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
      dropped: () => caught?.trap.sprung(caught.command),
      closed: (connection) => this.connections.delete(connection),
    };
  }
}
