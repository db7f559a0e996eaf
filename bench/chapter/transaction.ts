import type { ChainableCommander } from 'ioredis';

/** The replies of a transaction that watches nothing, so that it always takes place. */
export async function repliesOf(transaction: ChainableCommander): Promise<unknown[]> {
  const replies = await transaction.exec();
  if (replies === null) throw new Error('a transaction that watched nothing did not take place');
  return replies.map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
}
