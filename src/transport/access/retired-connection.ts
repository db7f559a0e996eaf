import type { ServerHttp2Session } from 'node:http2';

/**
 * Tells the client (GOAWAY) to open a new connection for its next call. Open calls go on. A client that has a new
 * certificate would otherwise keep the connection with the old one, because no status makes clients connect again.
 */
export function retireConnection(connection: object): void {
  const { close } = connection as Partial<ServerHttp2Session>;
  // Node 20 crashes if a session is closed while it is read.
  if (close !== undefined) setImmediate(() => close.call(connection));
}

export function onConnectionClosed(connection: object, listener: () => void): void {
  (connection as Partial<ServerHttp2Session>).once?.('close', listener);
}
