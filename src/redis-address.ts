/** Where one Redis process listens. */
export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export interface RedisUser {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** A single Redis. */
export interface SingleAddress {
  readonly kind: 'single';
  /** `redis://…`, `rediss://…`, or the path of a unix socket. */
  readonly url: string;
  readonly tls: boolean;
}

/** The master that Sentinel names. */
export interface SentinelAddress extends RedisUser {
  readonly kind: 'sentinel';
  readonly sentinels: readonly RedisHost[];
  /** The name of the master among the sentinels. */
  readonly master: string;
  readonly db: number;
  readonly tls: boolean;
}

export interface ClusterAddress extends RedisUser {
  readonly kind: 'cluster';
  readonly seeds: readonly RedisHost[];
  readonly tls: boolean;
}

/** Where the Redis is that keeps the state. */
export type StoreAddress = SingleAddress | SentinelAddress | ClusterAddress;
