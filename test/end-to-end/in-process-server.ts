import { pino } from 'pino';
import { readConfig } from '../../src/config/config';
import { createServer, type HoldfastServer } from '../../src/server';
import { AutocompleteClient } from '../support/clients/autocomplete-client';
import { eventuallyPasses } from '../support/eventually';
import { LockClient } from '../support/clients/lock-client';
import { SemaphoreClient } from '../support/clients/semaphore-client';

/** The real server inside this process, over a real Redis, with clients that it closes at its end. */
export class InProcessServer {
  /** What it logged at level warn and above. */
  readonly complaints: Record<string, unknown>[] = [];
  address = '';
  private readonly server: HoldfastServer;
  private readonly clients: { close(): void }[] = [];

  private constructor(redisUrl: string, env: Readonly<Record<string, string>>) {
    const config = readConfig({
      HOLDFAST_REDIS_URL: redisUrl,
      HOLDFAST_LISTEN: '127.0.0.1:0',
      HOLDFAST_DRAIN_TIMEOUT: '5s',
      HOLDFAST_STORE_IS_NEW: '1',
      ...env,
    });
    const write = (line: string): void =>
      void this.complaints.push(JSON.parse(line) as Record<string, unknown>);
    this.server = createServer(config, { log: pino({ level: 'warn' }, { write }) });
  }

  static async start(redisUrl: string, env: Readonly<Record<string, string>> = {}): Promise<InProcessServer> {
    const server = new InProcessServer(redisUrl, env);
    server.address = await server.server.listen();
    return server;
  }

  /** A client with a connection of its own. */
  client(address = this.address): LockClient {
    const client = new LockClient(address);
    this.clients.push(client);
    return client;
  }

  /** A client of SemaphoreService, with a connection of its own. */
  semaphores(): SemaphoreClient {
    const client = new SemaphoreClient(this.address);
    this.clients.push(client);
    return client;
  }

  /** A client of AutocompleteService, with a connection of its own. */
  autocomplete(): AutocompleteClient {
    const client = new AutocompleteClient(this.address);
    this.clients.push(client);
    return client;
  }

  /** What is under way in its engine. */
  get stats(): Readonly<Record<string, number>> {
    return { ...this.server.stats() };
  }

  drain(): Promise<void> {
    return this.server.drain();
  }

  /** Waits until its engine holds nothing: nothing that a client or a store does may leave anything for ever. */
  async rest(): Promise<void> {
    await eventuallyPasses('nothing to be left in the engine', () => {
      expect(Object.values(this.stats).filter((count) => count > 0)).toEqual([]);
    });
  }

  /** Ends it, and fails if it complained or has something left: nothing that a client does may bring that about. */
  async close(): Promise<void> {
    await this.server.drain();
    for (const client of this.clients) client.close();
    await this.rest();
    if (this.complaints.length > 0) {
      throw new Error(`the server complained: ${JSON.stringify(this.complaints, undefined, 2)}`);
    }
  }
}
