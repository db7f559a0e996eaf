import { randomUUID } from 'node:crypto';
import { auditOf, type Audit } from './audit';
import { clearMarket, closeMarket, connectMarket, openMarket } from './market';
import type { Options, Way } from './options';
import { openingOf, population } from './population';
import type { Tally } from './tally';
import { TraderGroup } from './trader-group';

/** What came of a day at the market. */
export interface Round {
  readonly way: Way;
  readonly tally: Tally;
  readonly audit: Audit;
}

/** One way to trade, from a market that is set up to one that is audited and cleared away. */
export async function playRound(
  way: Way,
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
    await group.come({ ...options, way, redisUrl, prefix });
    stop.addEventListener('abort', close);
    if (stop.aborted) close();
    const tally = await group.trade();
    return { way, tally, audit: auditOf(opening, await closeMarket(redis, users), tally.outcomes.done) };
  } finally {
    stop.removeEventListener('abort', close);
    await group.leave();
    // What went wrong before is what the caller is to hear of.
    await clearMarket(redis, users).catch((error: Error) => console.error(`not cleared: ${error.message}`));
    redis.disconnect();
  }
}
