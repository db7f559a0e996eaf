import type { Server } from '@grpc/grpc-js';
import type { Connections } from '../rpc/entry/connections';
import type { Health } from './health';
import type { Log } from '../base/log';
import type { Reflection } from './reflection';

export interface DrainParts {
  readonly server: Server;
  readonly connections: Connections;
  readonly health: Health;
  readonly reflection: Reflection;
  /** Refuses new work. Resolves when every wait and stream has ended. */
  readonly engine: { drain(): Promise<unknown> };
  readonly log: Log;
}

/**
 * Stops a server without the loss of a lease. Health becomes NOT_SERVING before streams end, so load balancers choose
 * another server. Streams end with a status after which clients retry. A forced shutdown would send no such status.
 * Connections that are still open after `timeoutMs` are closed.
 */
export async function drainServer(parts: DrainParts, timeoutMs: number): Promise<void> {
  const { server, connections, health, reflection, engine, log } = parts;
  const timeout = startTimeout(timeoutMs);
  try {
    health.drain();
    const ended = engine.drain().catch((error: unknown) => {
      log.error({ err: error }, 'the engine failed to drain');
    });
    if (await timeout.expiresBefore(ended))
      log.warn({}, 'waits and streams are still open after the drain timeout');
    health.endWatches();
    reflection.endStreams();
    if (await timeout.expiresBefore(shutdown(server, connections))) {
      log.warn({}, 'connections are still open after the drain timeout and are closed now');
    }
  } finally {
    timeout.cancel();
    await connections.closeAll();
    server.forceShutdown();
  }
}

/** Stops listening and sends GOAWAY to all clients. Resolves when the last call has ended, or when no connection is open. */
function shutdown(server: Server, connections: Connections): Promise<void> {
  const completed = new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve());
  });
  // Node never calls the callback of a connection that is destroyed but has not closed yet, and grpc-js waits for
  // this callback.
  return Promise.race([completed, connections.noneOpen()]);
}

interface Timeout {
  /** Resolves to true if the timeout expires before the work ends. */
  expiresBefore(work: Promise<unknown>): Promise<boolean>;
  cancel(): void;
}

function startTimeout(timeoutMs: number): Timeout {
  let timer: NodeJS.Timeout;
  const expired = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), timeoutMs);
  });
  return {
    expiresBefore: (work) => Promise.race([work.then(() => false), expired]),
    cancel: () => clearTimeout(timer),
  };
}
