import type { StoreAddress } from '../../base/redis-address';
import type { Commands } from '../../redis/commands';
import type { Script } from '../../redis/script';
import { openPlainRedis, type RedisSettings } from '../../redis/topology/open';
import type { EntryStore, RecentsStore } from '../entry-store';
import { entryScripts, loadScripts } from './entry-replies';
import { RedisEntryStore } from './redis-entry-store';
import { recentsScripts, RedisRecentsStore } from './redis-recents';

/** The scripts of autocomplete in the Redis of the leases. */
export const autocompleteScripts: readonly Script[] = [...recentsScripts, ...entryScripts];

export interface AutocompleteStoreSettings {
  /** Where the dictionaries are. Undefined: in the Redis of the leases. */
  readonly dictionaryAddress: StoreAddress | undefined;
  /** A replica of the Redis with the dictionaries, for loads. Undefined: the primary serves all loads. */
  readonly replica: StoreAddress | undefined;
  /** How long a list of recents stays after the last add (ms); undefined: for ever. */
  readonly recentsRetentionMs: number | undefined;
}

export interface AutocompleteStores {
  readonly recents: RecentsStore;
  readonly entries: EntryStore;
  /** Closes the connections that only autocomplete uses. */
  close(): void;
}

/** `commands`: of the Redis of the leases. The Redis of the dictionaries and the replica may answer later. */
export function openAutocompleteStores(
  commands: Commands,
  { dictionaryAddress, replica, recentsRetentionMs, ...settings }: AutocompleteStoreSettings & RedisSettings,
): AutocompleteStores {
  const dictionaryRedis =
    dictionaryAddress &&
    openPlainRedis(dictionaryAddress, 'HOLDFAST_DICTIONARY_REDIS_URL', {
      ...settings,
      scripts: entryScripts,
    });
  const replicaRedis =
    replica && openPlainRedis(replica, 'HOLDFAST_REDIS_REPLICA_URL', { ...settings, scripts: loadScripts });
  return {
    recents: new RedisRecentsStore({ ...settings, commands, retentionMs: recentsRetentionMs }),
    entries: new RedisEntryStore({
      ...settings,
      commands: dictionaryRedis?.commands ?? commands,
      replica: replicaRedis,
    }),
    close: () => {
      dictionaryRedis?.close();
      replicaRedis?.close();
    },
  };
}
