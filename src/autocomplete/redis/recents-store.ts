import { randomUUID } from 'node:crypto';
import { recentsAdd, recentsRemove } from '../../../generated/redis/scripts';
import type { RecentIdentity, RecentsStore } from '../recents-store';
import type { Recent } from '../suggestion';
import type { Commands } from '../../redis/command-runner';
import { script, type Script } from '../../redis/operation';
import { recentsKey, recentsRemovalKey } from '../../redis/buckets';
import { identityOf, readRecents, valueOf } from './recents-layout';

const scripts = { add: script(recentsAdd), remove: script(recentsRemove) };

/** Each new connection loads these scripts into Redis. */
export const recentsScripts: readonly Script[] = Object.values(scripts);

export interface RecentsStoreOptions {
  readonly commands: Commands;
  readonly prefix: string;
  /** How long a list stays after the last add (ms); undefined: for ever. */
  readonly retentionMs: number | undefined;
  /** How long one command may take, with all its retries (ms). */
  readonly commandTimeoutMs: number;
}

/** Stands for the whole list in place of an identity, because no identity is empty. */
const WHOLE_LIST = '';

/** Lists of recents: each method is one script, or one command of Redis. */
export class RedisRecentsStore implements RecentsStore {
  constructor(private readonly options: RecentsStoreOptions) {}

  add(list: string, recent: Recent, capacity: number): Promise<void> {
    const { commands, prefix, retentionMs } = this.options;
    const args = [identityOf(recent), valueOf(recent), capacity, retentionMs ?? ''];
    return commands.runRaw(scripts.add, [recentsKey(prefix, list)], args, () => undefined);
  }

  remove(list: string, identity: RecentIdentity): Promise<boolean> {
    return this.delete(list, identityOf(identity));
  }

  drop(list: string): Promise<boolean> {
    return this.delete(list, WHOLE_LIST);
  }

  read(list: string): Promise<readonly Recent[]> {
    const { commands, prefix } = this.options;
    return commands.query('LRANGE', [recentsKey(prefix, list), 0, -1], readRecents);
  }

  private delete(list: string, identity: string): Promise<boolean> {
    const { commands, prefix, commandTimeoutMs } = this.options;
    const keys = [recentsKey(prefix, list), recentsRemovalKey(prefix, list, randomUUID())];
    // Twice the time, because Redis's clock may run faster than ours.
    const args = [identity, 2 * commandTimeoutMs];
    return commands.run(scripts.remove, keys, args, ([word]) => word === 'REMOVED');
  }
}
