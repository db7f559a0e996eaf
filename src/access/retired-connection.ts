import type { ServerHttp2Session } from 'node:http2';

/**
 * Tells the client (GOAWAY) to open a new connection for its next call. Open calls continue. Otherwise a client with a
 * new certificate would keep the connection with the old certificate, because no status makes clients connect again.
 */
export function retireConnection(connection: object): void {
  const { close } = connection as Partial<ServerHttp2Session>;
  // Node 20 crashes if a session is closed while it is read.
  if (close !== undefined) setImmediate(() => close.call(connection));
}

/** A closed connection has no certificate that could be read. */
export function hasConnectionClosed(connection: object): boolean {
  return (connection as Partial<ServerHttp2Session>).destroyed === true;
}

export function onConnectionClosed(connection: object, listener: () => void): void {
  (connection as Partial<ServerHttp2Session>).once?.('close', listener);
}
