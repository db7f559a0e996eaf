import type { ChainableCommander } from 'ioredis';

/** The replies of a transaction without WATCH, which is never aborted. */
export async function repliesOf(transaction: ChainableCommander): Promise<unknown[]> {
  const replies = await transaction.exec();
  if (replies === null) throw new Error('a transaction without WATCH was aborted');
  return replies.map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
}
