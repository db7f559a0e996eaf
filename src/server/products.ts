import type { Logger } from 'pino';
import { Feature } from '../../generated/typescript/holdfast/v1/server_service';
import { Autocomplete, type AutocompleteEngine } from '../autocomplete/autocomplete';
import { autocompleteMetrics, type AutocompleteSource } from '../autocomplete/autocomplete-metrics';
import {
  type AutocompleteStores,
  autocompleteScripts,
  openAutocompleteStores,
} from '../autocomplete/redis/autocomplete-stores';
import { openIndexes } from '../autocomplete/loaded/loaded-dictionaries';
import { autocompleteService } from '../autocomplete/service/autocomplete-services';
import { type AutocompleteLimits, defaultAutocompleteLimits } from '../autocomplete/suggestion';
import type { Clock } from '../base/clock';
import type { MetricDefinition } from '../base/meters';
import type { Log } from '../base/log';
import type { Runtime } from '../base/runtime';
import type { Limits } from '../leases/lease';
import { leaseScripts, RedisLeaseStore } from '../leases/redis/redis-lease-store';
import { leaseMetrics, type LeaseSource } from '../leases/lease-metrics';
import { type LeaseEngine, Leases } from '../leases/leases';
import { lockService, semaphoreService } from '../leases/service/lease-services';
import { SessionCommands } from '../leases/service/session-commands';
import { sessionService } from '../leases/service/session-conversation';
import { defaultSessionLimits } from '../leases/sessions/session-requests';
import { Sessions } from '../leases/sessions/sessions';
import type { Script } from '../redis/script';
import type { RedisSettings, StoreRedis } from '../redis/topology/open';
import { FailureCounts } from '../rpc/entry/call-meters';
import type { OfferedService } from '../rpc/service';
import type { Config } from './config/config';
import { coreCount, defaultDictionaryBytes, limitsOf, preload, type PreloadProgress } from './startup';
import type { Spans } from './tracing';

/** What each product is made from. */
export interface ProductParts {
  readonly runtime: Runtime;
  readonly config: Config;
  readonly redis: StoreRedis;
  /** Of every connection to a Redis. */
  readonly settings: RedisSettings;
  readonly log: Logger;
  readonly spans: Spans | undefined;
}

/**
 * What the server offers its callers, beside health, reflection and ServerService. The server knows a product only by this
 * value, and products do not know each other.
 */
export interface Product<Opened extends OpenedProduct = OpenedProduct> {
  /** The scripts that the product runs in the Redis of the leases. Default: none. */
  readonly scripts?: readonly Script[];
  /** Read from what `open` returns. Default: none. */
  readonly metrics?: readonly MetricDefinition<Opened>[];
  /** The services with rules in a policy that are not of the contract, without their package. Default: none. */
  readonly policyServices?: readonly string[];
  /**
   * Called once, while the server connects to the store. So the product's own connections are opened at the same time. A
   * product that throws must close what it has opened.
   */
  open(parts: ProductParts): Opened;
}

/** A product that serves. */
export interface OpenedProduct {
  readonly services: readonly OfferedService[];
  readonly features?: readonly Feature[];
  /** Services that are not of the contract: a serialized google.protobuf.FileDescriptorSet with all imports. */
  readonly descriptors?: Uint8Array;
  /** Loads what belongs to the start of the server. Until then services with `isLoadedAtStart` are NOT_SERVING. */
  load?(progress: PreloadProgress): Promise<void>;
  /** Asks the streams of a connection to move to another connection. May be called twice for a connection. */
  leave?(connection: object): void;
  /** Refuses new work, and ends waits and streams. Resolves when they have ended. */
  drain?(timeoutMs: number): Promise<unknown>;
  /** Ends the work in the background and the threads, after the last call. */
  close?(): Promise<void>;
  /** Counts of the work in flight, for tests. */
  stats?(): Readonly<Record<string, number>>;
}

/** The part of the drain in which clients may move their sessions. Then the sessions end with a status. */
const SESSIONS_SHARE = 0.8;

type OpenedLeases = OpenedProduct & LeaseSource;

/** Locks, semaphores and sessions. */
export const leases: Product<OpenedLeases> = {
  scripts: leaseScripts,
  metrics: leaseMetrics,
  open({ runtime, config, redis, settings, spans }) {
    const limits = limitsOf(config);
    const { commands } = redis;
    const { retentionMs } = config;
    const { serverId } = settings;
    const store = new RedisLeaseStore({ ...settings, commands, retentionMs, guard: 'of-node' });
    redis.onHint((message) => store.hint(message));
    const engine = new Leases({ runtime, store, limits, serverId, observer: spans });
    const sessions = new Sessions({ runtime, engine, limits: defaultSessionLimits });
    return {
      ...offerLeases({ engine, sessions, limits, clock: runtime.clock }),
      leases: engine,
      close: async () => engine.close(),
      stats: () => ({ ...engine.stats() }),
    };
  },
};

interface LeaseParts {
  readonly engine: LeaseEngine & { drain(): Promise<void> };
  readonly sessions: Sessions;
  readonly limits: Limits;
  readonly clock: Clock;
}

/** The services of an engine of leases. */
export function offerLeases({ engine, sessions, limits, clock }: LeaseParts) {
  const locks = lockService(engine, limits);
  const semaphores = semaphoreService(engine, limits);
  const commands = new SessionCommands(limits, locks, semaphores);
  const failures = new FailureCounts();
  return {
    services: [locks, semaphores, sessionService(sessions, commands, clock, failures)],
    features: [
      Feature.FEATURE_EXCLUSIVE_LOCKS,
      Feature.FEATURE_SHARED_LOCKS,
      Feature.FEATURE_SEMAPHORES,
      Feature.FEATURE_LISTS,
      Feature.FEATURE_WATCHES,
      Feature.FEATURE_REVOCATION,
      Feature.FEATURE_METADATA_UPDATE,
      Feature.FEATURE_SESSIONS,
      Feature.FEATURE_SEMAPHORE_PAUSE,
    ],
    sessions,
    failures,
    leave: (connection: object) => sessions.leaveConnection(connection),
    drain: (timeoutMs: number) => Promise.all([engine.drain(), sessions.drain(timeoutMs * SESSIONS_SHARE)]),
  };
}

type OpenedAutocomplete = OpenedProduct & AutocompleteSource;

/** Dictionaries and recents. */
export const autocomplete: Product<OpenedAutocomplete> = {
  scripts: autocompleteScripts,
  metrics: autocompleteMetrics,
  open(parts) {
    const { config, redis, settings } = parts;
    const stores = openAutocompleteStores(redis.commands, {
      ...settings,
      dictionaryAddress: config.dictionaryRedis?.address,
      replica: config.redisReplica?.address,
      recentsRetentionMs: config.recentsRetentionMs,
    });
    try {
      return openAutocomplete(parts, stores);
    } catch (error) {
      stores.close();
      throw error;
    }
  },
};

function openAutocomplete(
  { runtime, config, log }: ProductParts,
  { entries, recents, ...stores }: AutocompleteStores,
): OpenedAutocomplete {
  const { clock, identities, defect: onDefect, warn: onWarning } = runtime;
  const indexes = openIndexes({
    clock,
    onDefect,
    onWarning,
    store: entries,
    budgetBytes: config.dictionaryMemoryBytes ?? defaultDictionaryBytes(),
    coreCount: coreCount(),
  });
  const engine = new Autocomplete({ clock, identities, onDefect, entries, recents, indexes });
  const offered = offerAutocomplete({ engine, clock });
  return {
    ...offered,
    engine,
    indexes,
    close: async () => {
      // A start that failed was not drained.
      engine.drain();
      try {
        await offered.close();
      } finally {
        indexes.close();
        stores.close();
      }
    },
    load: (progress) => preload({ ...progress, names: config.preload, indexes, clock, log }),
  };
}

interface AutocompleteParts {
  /**
   * `drain` is called after all streams have received the order to end. An open import may then still abandon its entries
   * or finish its commit.
   */
  readonly engine: AutocompleteEngine & { drain(): void };
  readonly limits?: AutocompleteLimits | undefined;
  readonly clock: Clock;
}

/** The services of an engine of autocomplete. */
export function offerAutocomplete({ engine, limits = defaultAutocompleteLimits, clock }: AutocompleteParts) {
  const failures = new FailureCounts();
  const { service, ...opened } = autocompleteService(engine, limits, clock, failures);
  return {
    services: [service],
    features: [Feature.FEATURE_AUTOCOMPLETE],
    failures,
    drain: async () => {
      opened.drain();
      engine.drain();
    },
    close: () => opened.close(),
  };
}

/** Closes all, even if one fails. */
export async function closeProducts(products: Iterable<OpenedProduct>, log: Log): Promise<void> {
  for (const product of products) {
    try {
      await product.close?.();
    } catch (error) {
      log.error({ err: error }, 'a product failed to close');
    }
  }
}

/** What the server offers. A further product is one more value here. */
export const products: readonly Product[] = [leases, autocomplete];
