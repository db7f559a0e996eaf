import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the range from which the kernel takes the client's port of a connection. In that range a client that
 * keeps trying a port where nobody listens may be given that very port, connect to itself, and so keep the
 * restarted server out.
 */
const FROM = 15_000;
const TO = 32_000;

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** A port of the loopback address on which nobody listens right now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    if (await isFree(port)) return port;
  }
}
