import type { Attack } from './attack';
import { forbiddenCalls, forgedTokens, openFloods, openStreams, unprovenCalls } from './refused-calls';
import { acquiresAndResets, rapidResets } from './resets';
import { tryOnce, tryOnceSpread } from './try-once';
import { unfinishedCalls } from './unfinished-calls';
import { unreadAnswers } from './unread-answers';
import { waitersOfManyNames, waitersOfOneName } from './waiters';

export const attacks: readonly Attack[] = [
  tryOnce,
  tryOnceSpread,
  waitersOfOneName,
  waitersOfManyNames,
  rapidResets,
  acquiresAndResets,
  unreadAnswers,
  unfinishedCalls,
  unprovenCalls,
  forgedTokens,
  forbiddenCalls,
  openStreams,
];

export { openFloods };
