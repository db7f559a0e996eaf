import type { AutocompleteEngine } from '../../src/autocomplete/autocomplete';
import type {
  DictionaryView,
  ImportSession,
  Suggestion,
  SuggestPage,
} from '../../src/autocomplete/suggestion';
import type { Call } from '../../src/base/call';
import { parseLeaseId } from '../../src/leases/lease-id';
import type { SessionLeases } from '../../src/leases/life';
import type { Lease, LeaseEnd, ResourceView } from '../../src/leases/lease';
import type { Quarantine, StoreHealth, StoreOperations } from '../../src/base/store-state';
import type { LeaseEngine } from '../../src/leases/leases';
import { FakeEngine } from './fake-engine';

/** A lease for tests that do not read the `expire_offset`. */
export const someLease: Lease = {
  leaseId: 'AQABofidhlNzib9jjeCKBchQb0Pz352lH_sV8qyltsIvbmhlbGxv',
  name: 'hello',
  requestId: '01a1f89d-8653-7389-bf63-8de08a05c850',
  fencingToken: 1_795_172_435_542_416n,
  permitCount: 1,
  ttlMs: 30_000,
  end: { sentAt: 0, remainingMs: 30_000 },
};

/** The end of a lease with this `expire_offset` in the answer to `call` (ms). The command was sent after the receipt. */
export function endAfter({ receivedAt }: Call, offsetMs: number): LeaseEnd {
  const leadMs = 1000;
  return { sentAt: receivedAt + leadMs, remainingMs: offsetMs / (1 - 0.0005) - leadMs };
}

/** `someLease`, with an `expire_offset` of 29,986.9 ms in the answer to `call`. */
export function leaseFor(call: Call): Lease {
  return { ...someLease, end: endAfter(call, 29_986.9) };
}

const freeLock: ResourceView = {
  name: 'hello',
  limit: undefined,
  keptLimit: undefined,
  usedCount: 0,
  lastFencingToken: 0n,
  holderCount: 0,
  waiterCount: 0,
  holders: [],
  waiters: [],
};

export const towns: DictionaryView = {
  name: 'towns',
  profile: { accents: 'kept', typos: true },
  entryCount: 3,
  memoryBytes: 612.5,
  feedBytes: 90.25,
  index: { loadState: 'ready', memoryBytes: 4096 },
  generation: 1,
  imports: [],
};

export const newYork: Suggestion = {
  entryId: 'nyc',
  text: 'New York',
  segments: [
    { text: 'New ', matched: false },
    { text: 'Yo', matched: true },
    { text: 'rk', matched: false },
  ],
  payload: Buffer.from([1, 2, 255]),
  kind: 'word-prefix',
  score: 2 ** 53 - 1,
  recent: false,
};

export const onePage: SuggestPage = { suggestions: [newYork], nextPageToken: 'next' };

/** The engine of unary calls and hold streams, and that of sessions. Every command of a session gets a lease. */
export function fakePermits(): FakeEngine<LeaseEngine & SessionLeases> {
  return new FakeEngine<LeaseEngine & SessionLeases>({
    take: (call, service, start, owner) => {
      const name = start.kind === 'acquire' ? start.request.name : someLease.name;
      const id = { ...parseLeaseId('lock', someLease.leaseId), resource: { service, name } };
      owner.send({ kind: 'granted', lease: leaseFor(call) });
      owner.hold({ id, lastEnd: 0, abandon: () => owner.end(undefined), revokeHeld: () => undefined });
      return Promise.resolve();
    },
    releaseLease: () => Promise.resolve({ released: true, lossCause: undefined }),
    renewLease: (call) => Promise.resolve(leaseFor(call)),
    acquire: (call) => Promise.resolve(leaseFor(call)),
    renew: (call) => Promise.resolve(leaseFor(call)),
    release: () => Promise.resolve({ released: true, lossCause: undefined }),
    hold: () => Promise.resolve(),
    inspect: () => Promise.resolve(freeLock),
    watch: () => Promise.resolve(),
    list: () => Promise.resolve({ resources: [freeLock], nextPageToken: 'next', sampled: false }),
    setLimit: (name, { limit }) =>
      Promise.resolve({ ...freeLock, name, limit: typeof limit === 'number' ? limit : 0 }),
    remove: () => Promise.resolve(),
    revoke: () => Promise.resolve({ revokedCount: 1, freeTimeMs: 1_795_172_465_542.123 }),
  });
}

/** `startImport` answers with `session`. The calls of `session` are in `engine.calls` too. */
export function fakeAutocomplete(): {
  readonly engine: FakeEngine<AutocompleteEngine>;
  readonly session: FakeEngine<ImportSession>;
} {
  const calls: unknown[][] = [];
  const session = new FakeEngine<ImportSession>(
    {
      put: () => Promise.resolve(),
      commit: () => Promise.resolve(towns),
      abandon: () => Promise.resolve(),
    },
    calls,
  );
  const defaults: AutocompleteEngine = {
    addRecent: () => Promise.resolve(),
    removeRecent: () => Promise.resolve(true),
    suggestRecents: () => Promise.resolve([newYork]),
    deleteRecents: () => Promise.resolve(true),
    createDictionary: () => Promise.resolve(towns),
    putEntries: () => Promise.resolve(),
    deleteEntries: () => Promise.resolve(1),
    startImport: () => Promise.resolve(session.engine),
    recordSelection: () => Promise.resolve(5),
    suggest: () => Promise.resolve(onePage),
    listEntries: () => Promise.resolve({ entries: [], nextPageToken: '' }),
    getDictionary: () => Promise.resolve(towns),
    listDictionaries: () => Promise.resolve({ dictionaries: [towns], nextPageToken: '' }),
    deleteDictionary: () => Promise.resolve(true),
  };
  return { engine: new FakeEngine(defaults, calls), session };
}

export class FakeStore implements StoreHealth, StoreOperations {
  quarantine: Quarantine | undefined;
  reachable = true;
  suitable = true;
  warnings: readonly string[] = [];
  hasLibrary = true;
  private readonly listeners: (() => void)[] = [];

  onEndQuarantine: () => Promise<Quarantine | undefined> = () => Promise.resolve(this.quarantine);

  endQuarantine(): Promise<Quarantine | undefined> {
    return this.onEndQuarantine();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Starts a quarantine. Undefined ends the quarantine. */
  setQuarantine(quarantine: Quarantine | undefined): void {
    this.quarantine = quarantine;
    for (const listener of this.listeners) listener();
  }

  setReachable(reachable: boolean): void {
    this.reachable = reachable;
    for (const listener of this.listeners) listener();
  }
}
