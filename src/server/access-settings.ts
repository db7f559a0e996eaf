import type { Logger } from 'pino';
import type { Quotas } from '../base/quotas';
import type { Config } from './config/config';
import { settingsWarnings } from './config/warnings';

interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

/** The settings that say who may call the server, with the names of the settings for messages. */
export function accessSettings(config: Config) {
  const { tlsCert, tlsKey, authJwtIssuer, authJwtAudience, authJwtJwks } = config;
  return {
    ...(tlsCert !== undefined &&
      tlsKey !== undefined && {
        tls: {
          certificate: { setting: 'HOLDFAST_TLS_CERT', path: tlsCert },
          key: { setting: 'HOLDFAST_TLS_KEY', path: tlsKey },
          clientAuthority: named('HOLDFAST_TLS_CLIENT_CA', config.tlsClientCa),
        },
      }),
    tokens: named('HOLDFAST_AUTH_TOKENS', config.authTokens),
    policy: named('HOLDFAST_POLICY', config.policy),
    quotas: quotasOf(config),
    ...(authJwtIssuer !== undefined &&
      authJwtAudience !== undefined &&
      authJwtJwks !== undefined && {
        jwt: {
          issuer: authJwtIssuer,
          audience: authJwtAudience,
          keys:
            'url' in authJwtJwks
              ? authJwtJwks
              : { setting: 'HOLDFAST_AUTH_JWT_JWKS', path: authJwtJwks.path },
          claim: config.authJwtClaim,
        },
      }),
  };
}

/** The file of the password for Redis. */
export function redisPasswordFile(config: Config): NamedFile | undefined {
  return named('HOLDFAST_REDIS_PASSWORD_FILE', config.redisPasswordFile);
}

/** Undefined: no quota is set. */
function quotasOf(config: Config): Quotas | undefined {
  const quotas: Quotas = {
    leases: config.quotaLeases,
    waiters: config.quotaWaiters,
    streams: config.quotaStreams,
    sessions: config.quotaSessions,
    commands_per_second: config.quotaCommandsPerSecond,
    entries: config.quotaEntries,
    bytes: config.quotaBytes,
  };
  return Object.values(quotas).some((quota) => quota !== undefined) ? quotas : undefined;
}

function named(setting: string, path: string | undefined): NamedFile | undefined {
  return path === undefined ? undefined : { setting, path };
}

/** Warns about what the settings leave open. */
export function logExposure(config: Config, log: Logger): void {
  for (const warning of settingsWarnings(config)) log.warn({}, warning);
}
