import { pino } from 'pino';
import { readConfig } from '../../src/server/config/config';
import { createServer, type HoldfastServer } from '../../src/server/server';
import type { Spans } from '../../src/server/tracing';
import { closeAll, eventuallyPasses } from '../support/eventually';
import { AutocompleteClient } from '../support/clients/autocomplete-client';
import { LockClient, SemaphoreClient } from '../support/clients/lease-client';

/** The ttl of a lease that expires soon, but on a busy machine not before its answer arrives. */
export const SHORT_TTL_MS = 1000;
/** A step without a wait takes less time. A step with a wait takes more time. */
export const SLOW_MS = 750;

/** The real server inside this process, with a real Redis. `close` also closes the clients. */
export class InProcessServer {
  /** The log lines of level warn and above, without the audit log. */
  readonly warnings: Record<string, unknown>[] = [];
  address = '';
  private readonly server: HoldfastServer;
  private readonly clients: { close(): void }[] = [];

  private constructor(redisUrl: string, env: Readonly<Record<string, string>>, spans: Spans | undefined) {
    const config = readConfig({
      HOLDFAST_REDIS_URL: redisUrl,
      HOLDFAST_LISTEN: '127.0.0.1:0',
      HOLDFAST_ADMIN_LISTEN: 'off',
      // A busy machine may take seconds for one command.
      HOLDFAST_COMMAND_TIMEOUT: '20s',
      HOLDFAST_DRAIN_TIMEOUT: '5s',
      HOLDFAST_STORE_IS_NEW: '1',
      // Each server reserves this address space. A process with more address space than memory cannot start Redis.
      HOLDFAST_DICTIONARY_MEMORY: '64MiB',
      ...env,
    });
    const write = (line: string): void => {
      const entry = JSON.parse(line) as Record<string, unknown>;
      if (entry['audit'] !== true) this.warnings.push(entry);
    };
    this.server = createServer(config, { log: pino({ level: 'warn' }, { write }), spans });
  }

  static async start(
    redisUrl: string,
    env: Readonly<Record<string, string>> = {},
    spans?: Spans,
  ): Promise<InProcessServer> {
    const server = new InProcessServer(redisUrl, env, spans);
    try {
      server.address = await server.server.listen();
    } catch (error) {
      // As main.ts does.
      await server.drain();
      throw error;
    }
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

  /** The address of the admin port. Undefined unless HOLDFAST_ADMIN_LISTEN is set. */
  get adminAddress(): string | undefined {
    return this.server.adminAddress;
  }

  /** The counts of the engine's open operations. */
  get stats(): Readonly<Record<string, number>> {
    return { ...this.server.stats() };
  }

  drain(): Promise<void> {
    return this.server.drain();
  }

  /** Waits until the engine has no open operation. Every operation must end, whatever clients and store do. */
  async idle(): Promise<void> {
    await eventuallyPasses('no open operation in the engine', () => {
      expect(Object.entries(this.stats).filter(([, count]) => count > 0)).toEqual([]);
    });
  }

  /** Ends the server. Fails if the server logged a warning, or has an open operation or a give-back. */
  close(): Promise<void> {
    return closeAll(
      () => this.closeDespiteWarnings(),
      () => this.expectNoWarnings(),
    );
  }

  /** Ends the server. Fails if the server has an open operation or a give-back. */
  closeDespiteWarnings(): Promise<void> {
    return closeAll(
      // The end of the server would end a give-back that the store never confirmed.
      () => this.givenBack(),
      () => this.drain(),
      ...this.clients.map((client) => () => client.close()),
      () => this.idle(),
    );
  }

  private async givenBack(): Promise<void> {
    await eventuallyPasses('no give-back in the background', () => {
      expect(this.stats['givingBackCount'] ?? 0).toBe(0);
    });
  }

  private expectNoWarnings(): void {
    if (this.warnings.length === 0) return;
    throw new Error(`the server logged warnings: ${JSON.stringify(this.warnings, undefined, 2)}`);
  }
}
