import { minisearch } from './minisearch';
import type { Peer } from './peer';
import { redisearchFull, redisearchSuggestions } from './redisearch';
import { sqliteTrigram } from './sqlite-trigram';
import { zrangebylex } from './zrangebylex';

export const peers = {
  'redisearch-suggestions': redisearchSuggestions,
  'redisearch-full': redisearchFull,
  zrangebylex,
  minisearch,
  'sqlite-trigram': sqliteTrigram,
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof peers;
