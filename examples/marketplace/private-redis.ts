import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedRedis } from '../../src/dev/embedded-redis';

export interface MarketRedis {
  readonly url: string;
  /** In words, for the first line of the output. */
  readonly description: string;
  end(): Promise<void>;
}

/**
 * The Redis of the market is not Holdfast's: one that is named, or one as `npm start` brings it, for this run. It is
 * as durable as that one, and beside it on the same disk, so that no way to trade has the faster disk.
 */
export async function marketRedis(url: string | undefined): Promise<MarketRedis> {
  if (url !== undefined) return { url, description: 'the one given', end: () => Promise.resolve() };
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
