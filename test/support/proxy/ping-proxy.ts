import { once } from 'node:events';
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

const HOP_BY_HOP = ['connection', 'host'];

/**
 * An HTTP/2 proxy as ALB, nginx and Envoy are: it answers pings of both sides itself, has one connection to the server
 * for all clients, and cuts a stream on which no message has passed for the idle time.
 */
export class PingProxy {
  /** The number of streams that were cut because they were idle. */
  cutCount = 0;
  private readonly clients = new Set<ServerHttp2Session>();
  private readonly server: Http2Server;
  private readonly upstream: ClientHttp2Session;

  private constructor(
    target: string,
    private readonly idleMs: number,
  ) {
    this.upstream = connect(`http://${target}`);
    this.upstream.on('error', () => undefined);
    this.server = createServer();
    this.server.on('session', (session) => {
      this.clients.add(session);
      session.on('close', () => this.clients.delete(session));
    });
    this.server.on('stream', (stream, headers) => this.forward(stream, headers));
  }

  /** @param target the server, as "127.0.0.1:port" */
  static async open(target: string, idleMs: number): Promise<PingProxy> {
    const proxy = new PingProxy(target, idleMs);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  close(): void {
    this.upstream.destroy();
    for (const client of this.clients) client.destroy();
    this.server.close();
  }

  private forward(client: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
    const server = this.upstream.request(sent, { endStream: false });
    const cut = (): void => {
      this.cutCount += 1;
      for (const side of [client, server]) side.close(constants.NGHTTP2_INTERNAL_ERROR);
    };
    const idle = setTimeout(cut, this.idleMs);
    for (const side of [client, server]) {
      side.on('data', () => idle.refresh());
      side.on('error', () => undefined);
    }
    let trailers: IncomingHttpHeaders = {};
    server.on('trailers', (received) => (trailers = received));
    server.on('response', (received, flags) => {
      const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      client.respond(received, { endStream, waitForTrailers: !endStream });
    });
    client.on('wantTrailers', () => client.sendTrailers(trailers));
    client.pipe(server);
    server.pipe(client);
    client.on('close', () => {
      clearTimeout(idle);
      if (!server.closed) server.close(constants.NGHTTP2_CANCEL);
    });
    server.on('close', () => {
      if (server.rstCode !== constants.NGHTTP2_NO_ERROR && !client.closed) client.close(server.rstCode);
    });
  }
}
