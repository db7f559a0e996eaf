import { credentials, type ChannelCredentials, type Client, type ClientOptions } from '@grpc/grpc-js';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';

const CHANNEL = {
  // Each client has its own connection, so that other calls of the program cannot delay events or end the connection.
  'grpc.use_local_subchannel_pool': 1,
  // A server that has disappeared is detected within 8 s. The store keeps a waiter's place in the queue for 10 s.
  'grpc.keepalive_time_ms': 5000,
  'grpc.keepalive_timeout_ms': 3000,
  // By default the pause between two connection attempts grows to two minutes. A lease is usually shorter.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
};

const CONNECT_TIMEOUT_MS = 1000;

/** A generated client of one service. */
type ClientClass<C> = new (address: string, credentials: ChannelCredentials, options: ClientOptions) => C;

/** Clients of the servers of one store. Each server can continue the work of another server. */
export class ServersOf<C extends Client> {
  private readonly clients = new Map<string, C>();
  private index = 0;

  constructor(
    private readonly addresses: readonly string[],
    private readonly ClientClass: ClientClass<C>,
  ) {}

  get address(): string {
    return this.addresses[this.index % this.addresses.length] ?? '';
  }

  get count(): number {
    return this.addresses.length;
  }

  /** Searches for a server that answers. False: no server answers now. Later calls still try every server. */
  async connect(): Promise<boolean> {
    for (let tried = 0; tried < this.count; tried++) {
      if (await isReady(this.client())) return true;
      this.next();
    }
    return false;
  }

  client(): C {
    const { address } = this;
    const known = this.clients.get(address);
    if (known) return known;
    const client = new this.ClientClass(address, credentials.createInsecure(), CHANNEL);
    this.clients.set(address, client);
    return client;
  }

  next(): void {
    this.index += 1;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
    this.clients.clear();
  }
}

/** Clients of the LockService. */
export class Servers extends ServersOf<LockServiceClient> {
  constructor(addresses: readonly string[]) {
    super(addresses, LockServiceClient);
  }
}

function isReady(client: Client): Promise<boolean> {
  return new Promise((resolve) => {
    client.waitForReady(Date.now() + CONNECT_TIMEOUT_MS, (error) => resolve(error === undefined));
  });
}
