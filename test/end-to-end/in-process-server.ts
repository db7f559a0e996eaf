import { pino } from 'pino';
import { readConfig } from '../../src/config/config';
import { createServer, type HoldfastServer } from '../../src/server';
import { AutocompleteClient } from '../support/clients/autocomplete-client';
import { eventuallyPasses } from '../support/eventually';
import { LockClient } from '../support/clients/lock-client';
import { SemaphoreClient } from '../support/clients/semaphore-client';

/** The ttl of a lease that shall expire soon, and not before its answer arrives on a busy machine. */
export const SHORT_TTL_MS = 1000;

/** The real server inside this process over a real Redis. Closes its clients at the end. */
export class InProcessServer {
  /** Log lines at level warn and above. */
  readonly warnings: Record<string, unknown>[] = [];
  address = '';
  private readonly server: HoldfastServer;
  private readonly clients: { close(): void }[] = [];

  private constructor(redisUrl: string, env: Readonly<Record<string, string>>) {
    const config = readConfig({
      HOLDFAST_REDIS_URL: redisUrl,
      HOLDFAST_LISTEN: '127.0.0.1:0',
      // A busy machine may take seconds for one command.
      HOLDFAST_COMMAND_TIMEOUT: '20s',
      HOLDFAST_DRAIN_TIMEOUT: '5s',
      HOLDFAST_STORE_IS_NEW: '1',
      ...env,
    });
    const write = (line: string): void =>
      void this.warnings.push(JSON.parse(line) as Record<string, unknown>);
    this.server = createServer(config, { log: pino({ level: 'warn' }, { write }) });
  }

  static async start(redisUrl: string, env: Readonly<Record<string, string>> = {}): Promise<InProcessServer> {
    const server = new InProcessServer(redisUrl, env);
    server.address = await server.server.listen();
    return server;
  }

  /** Each client has its own connection. */
  client(address = this.address): LockClient {
    const client = new LockClient(address);
    this.clients.push(client);
    return client;
  }

  semaphores(): SemaphoreClient {
    const client = new SemaphoreClient(this.address);
    this.clients.push(client);
    return client;
  }

  autocomplete(): AutocompleteClient {
    const client = new AutocompleteClient(this.address);
    this.clients.push(client);
    return client;
  }

  /** Counts of the engine's open operations. */
  get stats(): Readonly<Record<string, number>> {
    return { ...this.server.stats() };
  }

  drain(): Promise<void> {
    return this.server.drain();
  }

  /** Waits until the engine has no open operation: no client and no store may leave one behind. */
  async idle(): Promise<void> {
    await eventuallyPasses('no open operation in the engine', () => {
      expect(Object.values(this.stats).filter((count) => count > 0)).toEqual([]);
    });
  }

  /** Ends the server. Fails if the server logged a warning or has an open operation. */
  async close(): Promise<void> {
    await this.server.drain();
    for (const client of this.clients) client.close();
    await this.idle();
    if (this.warnings.length > 0) {
      throw new Error(`the server logged warnings: ${JSON.stringify(this.warnings, undefined, 2)}`);
    }
  }
}
