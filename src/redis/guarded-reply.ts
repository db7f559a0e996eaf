import type { Reply } from './script-command';

/** The next step that a script asks of its server: none, touch the resource, or check the epochs of the node. */
export type FollowUp = 'none' | 'touch' | 'check-epochs';

/**
 * The reply of a guarded script. Every such reply begins with the same header (scripts/shared/reply.lua). No other file
 * reads the header by position.
 */
export interface GuardedReply {
  /** The outcome, or the reason why the script did nothing. */
  readonly word: string;
  readonly followUp: FollowUp;
  /**
   * News of requests of this server, besides the answer to the command. Mostly empty. A text is the id of a request to
   * recheck; a list is a direct grant.
   */
  readonly news: readonly Reply[];
  /** Redis's time when the script ran (ms). */
  readonly redisTimeMs: number;
  /** How long grants still pause (ms); 0: they do not pause. */
  readonly pauseMs: number;
  /** The values after the header. The word decides their meaning. */
  readonly values: readonly Reply[];
  /** When the command of this reply was sent, by the monotonic clock (ms). */
  readonly sentAt: number;
  /** True: the command was sent before too, and the earlier reply with its news may be lost. */
  readonly isRepeated: boolean;
}

/** True for news that is a direct grant. */
export function isGrant(news: Reply): boolean {
  return Array.isArray(news);
}

const HEADER_LENGTH = 5;
const FOLLOW_UPS: Readonly<Record<string, FollowUp>> = { 1: 'touch', 2: 'check-epochs' };

/** Undefined: the reply has no header, so no script of this version has answered. */
export function readGuardedReply(
  reply: unknown,
  sentAt: number,
  isRepeated = false,
): GuardedReply | undefined {
  if (!Array.isArray(reply) || reply.length < HEADER_LENGTH) return undefined;
  const [word, followUp, news, timeUs, pauseUs] = reply as Reply[];
  return {
    word: word as string,
    followUp: FOLLOW_UPS[followUp as string] ?? 'none',
    news: news as Reply[],
    redisTimeMs: Number(timeUs) / 1000,
    pauseMs: Number(pauseUs) / 1000,
    values: reply.slice(HEADER_LENGTH) as Reply[],
    sentAt,
    isRepeated,
  };
}
