import type { Server } from '@grpc/grpc-js';
import type { Connections } from '../grpc/grpc-internals';
import type { Health } from './health';
import type { Log } from '../grpc/log';
import type { Reflection } from './reflection';

export interface DrainParts {
  readonly server: Server;
  /** Undefined if the server never listened. */
  readonly connections: Connections | undefined;
  readonly health: Health;
  readonly reflection: Reflection;
  /** Refuses new work and resolves when every wait and stream has ended. */
  readonly engine: { drain(): Promise<void> };
  readonly log: Log;
}

/**
 * Ends a server so that nobody loses a lease by it. The order matters: balancers must look elsewhere before
 * streams end, and streams must end with a status that clients retry, which a forced shutdown does not give.
 * Whatever is still open after `timeoutMs` is cut.
 */
export async function drainServer(parts: DrainParts, timeoutMs: number): Promise<void> {
  const { server, connections, health, reflection, engine, log } = parts;
  const deadline = startDeadline(timeoutMs);
  try {
    health.drain();
    const ended = engine.drain().catch((error: unknown) => {
      log.error({ err: error }, 'the engine failed to drain');
    });
    if (await deadline.comesBefore(ended))
      log.warn({}, 'waits and streams are still open after the drain timeout');
    health.endWatches();
    reflection.endStreams();
    if (await deadline.comesBefore(shutdown(server))) {
      log.warn({}, 'connections are still open after the drain timeout: cutting them');
    }
  } finally {
    deadline.cancel();
    connections?.destroyAll();
    server.forceShutdown();
  }
}

/** Stops listening, tells clients to go away, and resolves when their last calls have ended. */
function shutdown(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.tryShutdown(() => resolve());
  });
}

interface Deadline {
  comesBefore(work: Promise<unknown>): Promise<boolean>;
  cancel(): void;
}

function startDeadline(timeoutMs: number): Deadline {
  let timer: NodeJS.Timeout;
  const passed = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), timeoutMs);
  });
  return {
    comesBefore: (work) => Promise.race([work.then(() => false), passed]),
    cancel: () => clearTimeout(timer),
  };
}
