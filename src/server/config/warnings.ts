import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { authenticates, isExposed, type Config } from './config';
import { options } from './options';
import { hostOfUrl, isLoopback, isOpenKeySource } from './values';

/** What a valid configuration leaves open. The server logs each sentence at its start, and `check-config` prints it. */
export function settingsWarnings(config: Config): readonly string[] {
  return [...callerWarnings(config), ...redisWarnings(config), ...fileWarnings(config)];
}

function callerWarnings(config: Config): string[] {
  const found: string[] = [];
  if (config.authJwtJwks !== undefined && isOpenKeySource(config.authJwtJwks)) {
    found.push(
      'INSECURE: HOLDFAST_AUTH_JWT_JWKS has no TLS: who changes the answers on their way can make credentials (HOLDFAST_INSECURE=jwks)',
    );
  }
  if (authenticates(config) && config.policy === undefined) {
    found.push('there is no policy: every proven identity may do everything (HOLDFAST_POLICY)');
  }
  if (!isExposed(config)) return found;
  if (config.tlsCert === undefined) {
    found.push('INSECURE: other machines can reach this server, and it has no TLS (HOLDFAST_INSECURE=tls)');
  }
  if (!authenticates(config)) {
    found.push(
      'INSECURE: other machines can reach this server, and every caller may do everything (HOLDFAST_INSECURE=auth)',
    );
  }
  return found;
}

function redisWarnings(config: Config): string[] {
  return (['redis', 'redisReplica', 'dictionaryRedis'] as const)
    .filter((key) => {
      const address = config[key]?.address;
      return address !== undefined && !address.tls && !hostsOf(address).every(isLoopback);
    })
    .map(
      (key) =>
        `${options[key].name} has no TLS: the password of Redis and every lease go over the network as readable text; use ${config[key]?.shown.replace(/^redis(?=[:+])/, 'rediss') ?? ''}`,
    );
}

function hostsOf(address: Config['redis']['address']): readonly string[] {
  switch (address.kind) {
    case 'single':
      // A Unix socket has no host.
      return URL.canParse(address.url) ? [hostOfUrl(new URL(address.url))] : [];
    case 'sentinel':
      return address.sentinels.map(({ host }) => host);
    case 'cluster':
      return address.seeds.map(({ host }) => host);
  }
}

/** The settings that name a file with a credential, or with rules about credentials. */
const FILES = [
  ...['tlsCert', 'tlsKey', 'tlsClientCa', 'authTokens', 'policy'],
  ...['redisTlsCa', 'redisTlsCert', 'redisTlsKey', 'redisPasswordFile'],
] as const satisfies readonly (keyof Config)[];

function fileWarnings(config: Config): string[] {
  const { authJwtJwks } = config;
  const files = FILES.map((key) => [options[key].name, config[key]] as const);
  const keys = authJwtJwks !== undefined && 'path' in authJwtJwks ? authJwtJwks.path : undefined;
  return [...files, [options.authJwtJwks.name, keys] as const].flatMap(([name, path]) => {
    if (path === undefined) return [];
    if (mayAllWrite(path)) {
      return [`${name}: every user of this machine may write ${path}; take the right away (chmod o-w)`];
    }
    // In such a folder, everybody may put another file in the place of the file.
    const folder = dirname(path);
    const isOpen = mayAllWrite(folder, STICKY);
    return isOpen ? [`${name}: every user of this machine may replace ${path}; run chmod o-w ${folder}`] : [];
  });
}

const OTHERS_WRITE = 0o002;
/** In a folder with this bit, only the owner of a file may replace it. */
const STICKY = 0o1000;

/** False for a path that cannot be read: another part of the start says so. */
function mayAllWrite(path: string, unless = 0): boolean {
  try {
    const { mode } = statSync(path);
    return (mode & OTHERS_WRITE) !== 0 && (mode & unless) === 0;
  } catch {
    return false;
  }
}
