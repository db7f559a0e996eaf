import * as scripts from '../../generated/redis/scripts';
import { script } from '../../src/redis/connection/operation';
import type { RedisCommand } from '../support/proxy/tcp-proxy';

const SHAS = {
  acquire: script(scripts.permitsAcquire).sha,
  claim: script(scripts.permitsClaim).sha,
  withdraw: script(scripts.permitsWithdraw).sha,
  touch: script(scripts.permitsTouch).sha,
  /** Attaches too. */
  renew: script(scripts.permitsRenew).sha,
  release: script(scripts.permitsRelease).sha,
  limit: script(scripts.permitsLimit).sha,
  delete: script(scripts.permitsDelete).sha,
  'dictionary create': script(scripts.dictionaryCreate).sha,
  /** Puts, deletes, records selections, and stores batches of imports. */
  'dictionary write': script(scripts.dictionaryWrite).sha,
  'dictionary start import': script(scripts.dictionaryStartImport).sha,
  /** Commits or abandons. */
  'dictionary end import': script(scripts.dictionaryEndImport).sha,
  'dictionary drop': script(scripts.dictionaryDrop).sha,
};

export type ScriptKind = keyof typeof SHAS;

/** Matches a proxy's commands that run a script. `about` is a request id or key that must be among the arguments. */
export function runsOf(kind: ScriptKind, about?: string): (command: RedisCommand) => boolean {
  return ({ args }) => args[0] === SHAS[kind] && (about === undefined || args.includes(about));
}
