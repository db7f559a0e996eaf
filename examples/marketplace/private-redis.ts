import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../src/dev/embedded-redis';

export interface MarketRedis {
  readonly url: string;
  /** Printed in the first lines of the output. */
  readonly description: string;
  end(): Promise<void>;
}

/**
 * Opens the Redis of the market, which is separate from the Redis of Holdfast. If `url` is undefined, starts a private
 * Redis with the durability and the disk of `npm start`, so that no strategy has a faster disk.
 */
export async function marketRedis(url: string | undefined): Promise<MarketRedis> {
  if (url !== undefined) return { url, description: 'the given one', end: () => Promise.resolve() };
  const parent = join(process.cwd(), '.holdfast');
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, 'marketplace-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const redis = await EmbeddedRedis.start({
      folder,
      env: process.env,
      note: (text) => console.error(text),
    });
    const { product, version } = redis.program;
    const description = `${product} ${version}, private, for this run`;
    return { url: redis.url, description, end: () => redis.stop().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}
