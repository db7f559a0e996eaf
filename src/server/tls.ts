import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from './config/config';
import { RedisPassword, type Security } from '../redis/topology/open';
import { StartError } from './start-error';

/** The TLS files, the Sentinel user and the changing password for the connections to Redis. */
export function redisSecurity(config: Config): Security {
  const { redisSentinelAuth, redisTlsCa, redisTlsCert, redisTlsKey } = config;
  const tls = {
    ca: readPemIfSet('HOLDFAST_REDIS_TLS_CA', redisTlsCa),
    cert: readPemIfSet('HOLDFAST_REDIS_TLS_CERT', redisTlsCert),
    key: readPemIfSet('HOLDFAST_REDIS_TLS_KEY', redisTlsKey),
  };
  try {
    createSecureContext({ ...(tls.ca && { ca: tls.ca }), ...(tls.cert && { cert: tls.cert, key: tls.key }) });
  } catch (cause) {
    throw new StartError(
      `HOLDFAST_REDIS_TLS_CA, HOLDFAST_REDIS_TLS_CERT and HOLDFAST_REDIS_TLS_KEY cannot be used: ${String(cause)}`,
      { cause },
    );
  }
  const password = config.redisPasswordFile === undefined ? undefined : new RedisPassword();
  return { tls, sentinelUser: redisSentinelAuth?.user, password };
}

/** The certificates in use towards Redis, with the names of their settings. */
export function redisCertificates({ tls }: Security) {
  const { ca, cert } = tls ?? {};
  return [
    ...(ca ? [{ use: 'redis-authority', setting: 'HOLDFAST_REDIS_TLS_CA', pem: ca } as const] : []),
    ...(cert ? [{ use: 'redis-client', setting: 'HOLDFAST_REDIS_TLS_CERT', pem: cert } as const] : []),
  ];
}

function readPemIfSet(variable: string, path: string | undefined): Buffer | undefined {
  return path === undefined ? undefined : readPem(variable, path);
}

function readPem(variable: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new StartError(`${variable} cannot be read: ${String(cause)}`, { cause });
  }
}
