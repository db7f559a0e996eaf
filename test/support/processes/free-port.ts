import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The range lies below the kernel's range of client ports. A client that retries a port of the kernel's range without a
 * listener may get that port as its own, connect to itself, and keep the restarted server from the port.
 */
const FROM = 15_000;
/** Each worker of Jest has a range of its own: between the check of a port and its use another worker could take the port. */
const RANGE = 4000;
const WORKERS = 4;
const first = FROM + (Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS) * RANGE;
const given = new Set<number>();

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

/** A port of the loopback address that has no listener now. Each call gives another port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, first + RANGE);
    if (given.has(port)) continue;
    if (given.size >= RANGE / 2) given.clear();
    given.add(port);
    if (await isFree(port)) return port;
  }
}
