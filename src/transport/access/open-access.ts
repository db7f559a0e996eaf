import { ServerCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../engine/clock';
import type { Log } from '../grpc/log';
import { Access } from './access';
import { Authorization } from './authorization';
import { ClientCertificates } from './client-certificates';
import { Credentials } from './credentials';
import { JsonWebTokens } from './json-web-tokens';
import type { KeySet } from './key-set';
import { KeySetFile } from './key-set-file';
import { KeySetUrl } from './key-set-url';
import { OpenCredentials } from './open-credentials';
import { PolicyFile } from './policy-file';
import { ServerCertificates, type TlsFiles } from './server-certificates';
import { TokenFile } from './token-file';
import type { NamedFile } from './watched-files';

export interface JwtSettings {
  readonly issuer: string;
  readonly audience: string;
  /** A file, or the address of the key set. */
  readonly keys: NamedFile | { readonly url: string };
  readonly claim: string;
}

export interface AccessSettings {
  readonly tls?: TlsFiles | undefined;
  readonly tokens?: NamedFile | undefined;
  readonly jwt?: JwtSettings | undefined;
  readonly policy?: NamedFile | undefined;
  /** How often the policy is looked at (ms). Default: 1000. */
  readonly policyIntervalMs?: number | undefined;
}

export interface OpenedAccess {
  readonly credentials: ServerCredentials;
  /** Undefined: this server does not authenticate callers. */
  readonly access: Access | undefined;
  /** Undefined: every proven caller may do everything. */
  readonly authorization: Authorization | undefined;
  close(): void;
}

/**
 * Loads certificates, tokens, keys and the policy, and watches them for changes. Rejects with an UnusableFile.
 * @param auditLog receives the refused credentials
 */
export async function openAccess(
  { tls, tokens, jwt, policy, policyIntervalMs }: AccessSettings,
  clock: Clock,
  log: Log,
  auditLog = log,
): Promise<OpenedAccess> {
  const open = new OpenCredentials(clock);
  const onChanged = open.changed.bind(open);
  const certificates = tls && new ServerCertificates(tls, log);
  const tokenFile = tokens && new TokenFile({ file: tokens, clock, log, onChanged });
  const jsonWebTokens = jwt && openJsonWebTokens(jwt, clock, log);
  const policyFile =
    policy &&
    new PolicyFile({
      file: policy,
      log,
      intervalMs: policyIntervalMs,
      onChanged: (changed) => authorization?.replace(changed),
    });
  const watched = [certificates, tokenFile, jsonWebTokens?.keys, policyFile].filter(
    (one) => one !== undefined,
  );
  const close = (): void => {
    for (const one of watched) one.close();
    open.close();
  };
  try {
    for (const one of watched) await one.start();
  } catch (error) {
    close();
    throw error;
  }
  const kinds = {
    tokens: tokenFile,
    jsonWebTokens: jsonWebTokens?.tokens,
    certificates: tls?.clientAuthority && new ClientCertificates(clock),
  };
  const authorization = policyFile && new Authorization(policyFile.policy);
  const authenticates = Object.values(kinds).some((kind) => kind !== undefined);
  const authenticator = new Credentials(kinds, clock);
  return {
    credentials: certificates?.credentials ?? ServerCredentials.createInsecure(),
    access: authenticates ? new Access({ authenticator, open, clock, log: auditLog }) : undefined,
    authorization,
    close,
  };
}

function openJsonWebTokens(
  { issuer, audience, keys: source, claim }: JwtSettings,
  clock: Clock,
  log: Log,
): { readonly tokens: JsonWebTokens; readonly keys: KeySet } {
  const onChanged = (): void => tokens.forget();
  const keys =
    'url' in source
      ? new KeySetUrl({ url: source.url, clock, log, onChanged })
      : new KeySetFile(source, log, onChanged);
  const tokens = new JsonWebTokens({ issuer, audience, claim, keys, clock });
  return { tokens, keys };
}
