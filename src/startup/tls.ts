import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Config } from '../config/config';
import type { Security } from '../redis';
import { StartError } from './start-error';

/** Credentials for the server's own port: TLS if a certificate is configured, otherwise plain text. */
export function serverCredentials({ tlsCert, tlsKey }: Config): ServerCredentials {
  if (tlsCert === undefined || tlsKey === undefined) return ServerCredentials.createInsecure();
  const chain = readPem('HOLDFAST_TLS_CERT', tlsCert);
  const key = readPem('HOLDFAST_TLS_KEY', tlsKey);
  try {
    // The check is made here, because grpc-js reports an unusable certificate without the names of the settings.
    createSecureContext({ cert: chain, key });
    return ServerCredentials.createSsl(null, [{ cert_chain: chain, private_key: key }]);
  } catch (cause) {
    throw new StartError(`HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY cannot be used: ${String(cause)}`, {
      cause,
    });
  }
}

/** The TLS files and the Sentinel user for the connections to Redis. */
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
  return { tls, sentinelUser: redisSentinelAuth?.user };
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
