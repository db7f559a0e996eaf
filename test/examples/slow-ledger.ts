import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from '../support/eventually';

/** A way to the ledger that can hold writes back, as a slow network does. */
export class SlowLedger {
  /** The status of each write that the ledger has answered. */
  readonly statuses: number[] = [];
  private readonly held: (() => void)[] = [];
  private isHolding = false;

  private constructor(
    private readonly server: Server,
    private readonly target: string,
  ) {}

  /** @param target the URL of the ledger */
  static async open(target: string): Promise<SlowLedger> {
    // A ledger that has ended breaks the connection, as a network does.
    const server = createServer((request, response) => {
      ledger.pass(request, response).catch(() => response.destroy());
    });
    const ledger = new SlowLedger(server, target);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return ledger;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Holds the next writes. Resolves as soon as a write is held. */
  async hold(): Promise<void> {
    this.isHolding = true;
    await eventually('a write to hold', () => this.held.length > 0, { timeoutMs: 30_000 });
  }

  /** Passes the held writes on. */
  release(): void {
    this.isHolding = false;
    for (const pass of this.held.splice(0)) pass();
  }

  async close(): Promise<void> {
    this.release();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (this.isHolding) await new Promise<void>((resolve) => this.held.push(resolve));
    const answer = await fetch(`${this.target}${request.url}`, { method: 'POST', body });
    const content = await answer.text();
    this.statuses.push(answer.status);
    response.writeHead(answer.status).end(content);
  }
}
