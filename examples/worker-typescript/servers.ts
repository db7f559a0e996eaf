import { credentials, type ChannelCredentials, type Client, type ClientOptions } from '@grpc/grpc-js';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';

const CHANNEL = {
  // A separate connection: other calls of the program must not delay events of the lease or end its connection.
  'grpc.use_local_subchannel_pool': 1,
  // Detects within 8 s a server that has disappeared. The store keeps a waiter's place in the queue for 10 s.
  'grpc.keepalive_time_ms': 5000,
  'grpc.keepalive_timeout_ms': 3000,
  // The default pause between two connection attempts grows to two minutes, which is longer than the lease.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
};

const CONNECT_TIMEOUT_MS = 1000;

/** A generated client of one service. */
type ClientClass<C> = new (address: string, credentials: ChannelCredentials, options: ClientOptions) => C;

/** The servers that share one store. Each of them can continue the work of another. */
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

  /** Looks for a server that answers. False when none answers; later calls still try every server. */
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
