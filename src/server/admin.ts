import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StoreHealth } from '../base/store-state';
import { type Address, explain, ListenError } from '../rpc/entry/grpc-js';
import { AdminConnections, type ConnectionLimits } from './admin-connections';

interface AdminAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Makes the answer of each path. A rejection is answered with 500. */
export type AdminPages = Readonly<Record<string, () => AdminAnswer | Promise<AdminAnswer>>>;

export type TcpAddress = Extract<Address, { kind: 'tcp' }>;

/** A scrape takes one connection for milliseconds. */
const CONNECTIONS: ConnectionLimits = { ofAddress: 16, ofServer: 64, uncounted: 512 };
const MAX_HEADER_BYTES = 8192;
const REQUEST_TIMEOUT_MS = 5000;
const IDLE_TIMEOUT_MS = 30_000;
/** A client that does not read its answer loses its connection after this time. */
const SOCKET_TIMEOUT_MS = 60_000;
/** How often Node looks for requests that take too long. */
const CHECK_INTERVAL_MS = 1000;

const TEXT = 'text/plain; charset=utf-8';

/**
 * The admin port: HTTP for monitoring systems, apart from the port of the clients. It needs no credential, so its
 * connections are bounded.
 */
export class AdminServer {
  private readonly server: Server;
  /** The answers in progress. Requests for a page at the same time share one answer. */
  private readonly making = new Map<string, Promise<AdminAnswer>>();
  private readonly connections = new AdminConnections(CONNECTIONS);

  constructor(
    private readonly pages: AdminPages,
    /** The page of liveness probes. Its connection counts against no bound from its request on, and then ends. */
    private readonly livenessPath: string,
    private readonly onDefect: (error: unknown) => void,
  ) {
    this.server = createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: REQUEST_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: IDLE_TIMEOUT_MS,
        connectionsCheckingInterval: CHECK_INTERVAL_MS,
      },
      (request, response) => void this.serve(request, response),
    );
    this.server.on('connection', (socket) => this.connections.admit(socket));
    this.server.setTimeout(SOCKET_TIMEOUT_MS, (socket) => socket.destroy());
  }

  /** Resolves to `host:port` with the port that the system chose for port 0. Rejects with a ListenError. */
  listen({ host, port }: TcpAddress): Promise<string> {
    const shownHost = host.includes(':') ? `[${host}]` : host;
    return new Promise((resolve, reject) => {
      this.server.once('error', (cause) => {
        const problem = explain(cause.message);
        reject(new ListenError(`cannot listen on ${shownHost}:${port}: ${problem}`, { cause }));
      });
      this.server.listen({ host, port, exclusive: true }, () => {
        resolve(`${shownHost}:${(this.server.address() as AddressInfo).port}`);
      });
    });
  }

  /** Closes the port and all its connections. Safe to call twice, and before `listen`. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const isLiveness = pathOf(request) === this.livenessPath;
    if (isLiveness) this.connections.release(socket);
    else this.connections.began(socket);
    response.once('close', () => this.connections.answered(socket));
    request.resume();
    const { status, contentType, body } = await this.answer(request);
    response.writeHead(status, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...((isLiveness || status !== 200) && { connection: 'close' }),
      ...(status === 405 && { allow: 'GET, HEAD' }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  private async answer(request: IncomingMessage): Promise<AdminAnswer> {
    const { method } = request;
    const path = pathOf(request);
    if (!Object.hasOwn(this.pages, path)) {
      const paths = Object.keys(this.pages).join(', ');
      return { status: 404, contentType: TEXT, body: `there is no such page; the pages are ${paths}\n` };
    }
    if (method !== 'GET' && method !== 'HEAD') {
      return { status: 405, contentType: TEXT, body: 'use GET or HEAD\n' };
    }
    try {
      return await this.make(path);
    } catch (error) {
      this.onDefect(error);
      return { status: 500, contentType: TEXT, body: 'the page could not be made; the log says why\n' };
    }
  }

  private make(path: string): Promise<AdminAnswer> {
    const known = this.making.get(path);
    if (known !== undefined) return known;
    const making = Promise.resolve(this.pages[path]?.() as AdminAnswer | Promise<AdminAnswer>);
    this.making.set(path, making);
    const forget = (): void => void this.making.delete(path);
    making.then(forget, forget);
    return making;
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const [path = ''] = url.split('?');
  return path;
}

/** The phase of the server. A server that starts or drains is not ready. */
export type Phase = 'starting' | 'serving' | 'draining';

/** The page of liveness probes. */
export const LIVENESS = '/livez';

export interface ProbedServer {
  readonly phase: Phase;
  /** Undefined: the server is not connected to the store yet. */
  readonly store: StoreHealth | undefined;
  /** The dictionaries of HOLDFAST_PRELOAD that are not loaded yet. */
  readonly unloadedCount: number;
}

const PHASES: Readonly<Record<Exclude<Phase, 'serving'>, string>> = {
  starting: 'the server is starting',
  draining: 'the server is draining',
};

/**
 * The pages for probes. `/livez` says that the process runs, in every state of the store, because a restart of the
 * server cannot repair the store. `/readyz` says what the health service says, with the reasons.
 */
export function probePages(server: ProbedServer): AdminPages {
  return {
    [LIVENESS]: () => json(200, { live: true }),
    '/readyz': () => {
      const reasons = whyNotReady(server);
      const ready = reasons.length === 0;
      // A quarantine stops grants, but renewals still need this server.
      const { quarantine } = server.store ?? {};
      const paused = quarantine && {
        grants: `paused: quarantine (${quarantine.cause}), ${Math.ceil(quarantine.remainingMs / 1000)} s left`,
      };
      return json(ready ? 200 : 503, { ready, ...(!ready && { reasons }), ...paused });
    },
  };
}

/** Whether the server accepts work, as health says. */
export function isReady(server: ProbedServer): boolean {
  return server.store !== undefined && whyNotReady(server).length === 0;
}

function whyNotReady({ phase, store, unloadedCount }: ProbedServer): string[] {
  const reasons: string[] = phase === 'serving' ? [] : [PHASES[phase]];
  if (store === undefined) return reasons;
  if (unloadedCount > 0)
    reasons.push(`dictionaries of HOLDFAST_PRELOAD that are not loaded yet: ${unloadedCount}`);
  if (!store.reachable) reasons.push('the store does not answer');
  else if (!store.suitable) reasons.push('the store may drop leases', ...store.warnings);
  return reasons;
}

function json(status: number, value: object): AdminAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` };
}
