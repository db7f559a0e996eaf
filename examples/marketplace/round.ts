import { randomUUID } from 'node:crypto';
import { auditOf, type Audit } from './audit';
import { clearMarket, closeMarket, connectMarket, openMarket } from './market';
import type { Options, Strategy } from './options';
import { openingOf, population } from './population';
import type { Tally } from './tally';
import { TraderGroup } from './trader-group';

/** The result of one strategy. */
export interface Round {
  readonly strategy: Strategy;
  readonly tally: Tally;
  readonly audit: Audit;
}

/** Sets up a market, lets the traders use one strategy, audits the market and removes it. */
export async function runRound(
  strategy: Strategy,
  redisUrl: string,
  options: Options,
  stop: AbortSignal,
): Promise<Round> {
  const prefix = `marketplace-${randomUUID()}:`;
  const people = population(options.buyers, options.sellers);
  const users = [...people.buyers, ...people.sellers];
  const opening = openingOf(people, options.items, options.seed);
  const redis = await connectMarket(redisUrl, prefix);
  const group = new TraderGroup(options.processes);
  const close = (): void => group.close();
  try {
    await openMarket(redis, opening);
    await group.connect({ ...options, strategy, redisUrl, prefix });
    stop.addEventListener('abort', close);
    if (stop.aborted) close();
    const tally = await group.trade();
    return { strategy, tally, audit: auditOf(opening, await closeMarket(redis, users), tally.outcomes.done) };
  } finally {
    stop.removeEventListener('abort', close);
    await group.end();
    // This error is only printed, because it must not replace an earlier error.
    await clearMarket(redis, users).catch((error: Error) => console.error(`not cleared: ${error.message}`));
    redis.disconnect();
  }
}
