import { randomUUID } from 'node:crypto';
import { recentsAdd, recentsRemove } from '../../../generated/redis/scripts';
import type { RecentIdentity, RecentsStore } from '../../engine/autocomplete/recents-store';
import type { Recent } from '../../engine/autocomplete/suggestion';
import type { Commands } from '../connection/connection';
import { script, type Script } from '../connection/operation';
import { recentsKey, recentsRemovalKey } from '../keys';
import { identityOf, readRecents, valueOf } from './recents-layout';

const scripts = { add: script(recentsAdd), remove: script(recentsRemove) };

/** All of them, to be loaded ahead of use. */
export const recentsScripts: readonly Script[] = Object.values(scripts);

export interface RecentsStoreOptions {
  readonly connection: Commands;
  readonly prefix: string;
  /** After which a list goes that nothing is added to; undefined: never. */
  readonly retentionMs: number | undefined;
  /** How long one command may take, sent again included (ms). */
  readonly commandTimeoutMs: number;
}

/** In place of an identity: all of them. No recent's is empty. */
const WHOLE_LIST = '';

/** Lists of recents: each method is one script, or the one command that a script would only slow down. */
export class RedisRecentsStore implements RecentsStore {
  constructor(private readonly options: RecentsStoreOptions) {}

  add(list: string, recent: Recent, capacity: number): Promise<void> {
    const { connection, prefix, retentionMs } = this.options;
    const args = [identityOf(recent), valueOf(recent), capacity, retentionMs ?? ''];
    return connection.runRaw(scripts.add, [recentsKey(prefix, list)], args, () => undefined);
  }

  remove(list: string, which: RecentIdentity): Promise<boolean> {
    return this.takeAway(list, identityOf(which));
  }

  drop(list: string): Promise<boolean> {
    return this.takeAway(list, WHOLE_LIST);
  }

  read(list: string): Promise<readonly Recent[]> {
    const { connection, prefix } = this.options;
    return connection.query('LRANGE', [recentsKey(prefix, list), 0, -1], readRecents);
  }

  private takeAway(list: string, identity: string): Promise<boolean> {
    const { connection, prefix, commandTimeoutMs } = this.options;
    const keys = [recentsKey(prefix, list), recentsRemovalKey(prefix, list, randomUUID())];
    // Twice: Redis's clock is another one than ours.
    const args = [identity, 2 * commandTimeoutMs];
    return connection.run(scripts.remove, keys, args, ([word]) => word === 'REMOVED');
  }
}
