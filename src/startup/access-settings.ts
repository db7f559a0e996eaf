import type { Logger } from 'pino';
import type { Quotas } from '../engine/quotas';
import { authenticates, isExposed, type Config } from '../config/config';

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

/** Warns about permissions of all callers, and about an address without protection, as HOLDFAST_INSECURE permits. */
export function logExposure(config: Config, log: Logger): void {
  const { authJwtJwks } = config;
  if (authJwtJwks !== undefined && 'url' in authJwtJwks && authJwtJwks.url.startsWith('http:')) {
    log.warn(
      {},
      'HOLDFAST_AUTH_JWT_JWKS has no TLS: who changes the answers on their way can make credentials',
    );
  }
  if (authenticates(config) && config.policy === undefined) {
    log.warn({}, 'there is no policy: every proven identity may do everything (HOLDFAST_POLICY)');
  }
  if (!isExposed(config)) return;
  if (config.tlsCert === undefined) {
    log.warn({}, 'INSECURE: other machines can reach this server, and it has no TLS (HOLDFAST_INSECURE=tls)');
  }
  if (!authenticates(config)) {
    log.warn(
      {},
      'INSECURE: other machines can reach this server, and every caller may do everything (HOLDFAST_INSECURE=auth)',
    );
  }
}
