export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export interface RedisUser {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** One Redis, without Sentinel and without Cluster. */
export interface SingleAddress {
  readonly kind: 'single';
  /** `redis://…`, `rediss://…`, or the path of a unix socket. */
  readonly url: string;
  readonly tls: boolean;
}

/** A master that the sentinels name. */
export interface SentinelAddress extends RedisUser {
  readonly kind: 'sentinel';
  readonly sentinels: readonly RedisHost[];
  /** The name by which the sentinels know the master. */
  readonly master: string;
  readonly db: number;
  readonly tls: boolean;
}

export interface ClusterAddress extends RedisUser {
  readonly kind: 'cluster';
  readonly seeds: readonly RedisHost[];
  readonly tls: boolean;
}

/** The address of the Redis that stores all state. */
export type StoreAddress = SingleAddress | SentinelAddress | ClusterAddress;
