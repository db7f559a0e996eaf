import type { Resource } from '../../src/leases/lease';
import { Requester, type SpeakingServer } from './lease-requester';
import { is } from './reply-kinds';

/** Leases that stay during a long test. */
const TTL_MS = 3_600_000;
const IN_FLIGHT = 64;

const lockNamed = (name: string): Resource => ({ service: 'lock', name });

/** Acquires a lock of each name by commands of the store, which costs less than calls. */
export async function holdNames(server: SpeakingServer, names: Iterable<string>): Promise<void> {
  const left = names[Symbol.iterator]();
  const hold = async () => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      is('granted', await new Requester(server, lockNamed(next.value), { ttlMs: TTL_MS }).try());
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, hold));
}

/** Clients that acquire and release locks of their own, in turn, until they are stopped. */
export class BusyNames {
  private stopped = false;
  private readonly clients: readonly Promise<void>[];

  /** Each client uses its names in turn. */
  constructor(
    private readonly server: SpeakingServer,
    clientNames: readonly (readonly string[])[],
  ) {
    this.clients = clientNames.map((names) => this.run(names));
  }

  /** Rejects if a lock was not granted or not released. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.clients);
  }

  private async run(names: readonly string[]): Promise<void> {
    for (let turn = 0; !this.stopped; turn += 1) {
      const one = new Requester(this.server, lockNamed(names[turn % names.length] as string));
      is('granted', await one.try());
      is('released', await one.release(one.secret));
    }
  }
}
