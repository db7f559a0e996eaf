import { ServerCredentials } from '@grpc/grpc-js';
import { Accounts, type Quotas } from '../base/accounts';
import type { Clock } from '../base/clock';
import type { Log } from '../base/log';
import { Access } from './access';
import { Authorization } from './authorization';
import { ClientCertificates } from './client-certificates';
import { Credentials } from './credentials';
import { type KeySet, KeySetFile } from './issuer-keys';
import { KeySetUrl } from './issuer-keys-url';
import { JsonWebTokens } from './json-web-tokens';
import { OpenCredentials } from './open-credentials';
import { QuotaRules } from './policy';
import { PolicyFile } from './policy-file';
import { CertificateEnds, ServerCertificates, type TlsFiles } from './server-certificates';
import { TokenFile } from './tokens';
import { type NamedFile, UnusableFile, WatchedFiles } from './watched-files';

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
  /** The services with rules in the policy that are not of the contract. Default: none. */
  readonly policyServices?: readonly string[] | undefined;
  /** The quotas of every caller that the policy gives no other quotas. Undefined: none. */
  readonly quotas?: Quotas | undefined;
  /** The file with the password of Redis, and what uses a password; it rejects while Redis refuses the password. */
  readonly redisPassword?:
    { readonly file: NamedFile; readonly use: (password: string) => Promise<void> } | undefined;
  /** How often the files are looked at (ms). Default: 1000. */
  readonly intervalMs?: number | undefined;
}

/** What a server loads again when it changes. */
export type Reloaded = 'certificates' | 'tokens' | 'issuer-keys' | 'policy' | 'redis-password';

export interface OpenedAccess {
  readonly credentials: ServerCredentials;
  /** Undefined: this server does not authenticate callers. */
  readonly access: Access | undefined;
  /** Undefined: every proven caller may do everything. */
  readonly authorization: Authorization | undefined;
  /** Undefined: this server has no quotas. */
  readonly accounts: Accounts | undefined;
  /** For each watched content: whether the last change could not be loaded. */
  reloads(): readonly { readonly content: Reloaded; readonly hasFailed: boolean }[];
  close(): void;
}

/**
 * Loads certificates, tokens, keys and the policy, and watches them for changes. Rejects with an UnusableFile.
 * @param auditLog receives the refused credentials
 * @param certificateEnds receives the ends of the certificates, and is closed with the rest
 */
export async function openAccess(
  { tls, tokens, jwt, policy, policyServices, quotas, redisPassword, intervalMs }: AccessSettings,
  clock: Clock,
  log: Log,
  auditLog = log,
  certificateEnds = new CertificateEnds(log),
): Promise<OpenedAccess> {
  const open = new OpenCredentials(clock);
  const onChanged = open.changed.bind(open);
  const certificates = tls && new ServerCertificates(tls, certificateEnds, log, intervalMs);
  const tokenFile = tokens && new TokenFile({ file: tokens, clock, log, onChanged, intervalMs });
  const jsonWebTokens = jwt && openJsonWebTokens(jwt, clock, log, intervalMs);
  const policyFile =
    policy &&
    new PolicyFile({
      file: policy,
      services: policyServices,
      log,
      intervalMs,
      onChanged: (changed, rules) => {
        authorization?.replace(changed);
        accounts?.replace(new QuotaRules(rules, quotas ?? {}));
      },
    });
  const contents: Readonly<Record<Reloaded, Watched | undefined>> = {
    certificates,
    tokens: tokenFile,
    'issuer-keys': jsonWebTokens?.keys,
    policy: policyFile,
    'redis-password': redisPassword && watchPassword(redisPassword, log, intervalMs),
  };
  const watched = (Object.keys(contents) as Reloaded[]).flatMap((content) => {
    const source = contents[content];
    return source === undefined ? [] : [{ content, source }];
  });
  let access: Access | undefined;
  const close = (): void => {
    for (const { source } of watched) source.close();
    certificateEnds.close();
    open.close();
    access?.close();
  };
  try {
    for (const { source } of watched) await source.start();
  } catch (error) {
    close();
    throw error;
  }
  const kinds = {
    tokens: tokenFile,
    jsonWebTokens: jsonWebTokens?.tokens,
    certificates: tls?.clientAuthority && new ClientCertificates(clock, open),
  };
  const authorization = policyFile && new Authorization(policyFile.policy);
  const hasQuotas = policyFile !== undefined || quotas !== undefined;
  const accounts = hasQuotas
    ? new Accounts(new QuotaRules(policyFile?.quotas ?? [], quotas ?? {}), clock)
    : undefined;
  const authenticates = Object.values(kinds).some((kind) => kind !== undefined);
  if (authenticates) {
    access = new Access({ authenticator: new Credentials(kinds, clock), open, clock, log: auditLog });
  }
  return {
    credentials: certificates?.credentials ?? ServerCredentials.createInsecure(),
    access,
    authorization,
    accounts,
    reloads: () => watched.map(({ content, source }) => ({ content, hasFailed: source.hasFailed })),
    close,
  };
}

const MAX_PASSWORD_BYTES = 4096;

function watchPassword(
  { file, use }: NonNullable<AccessSettings['redisPassword']>,
  log: Log,
  intervalMs: number | undefined,
): WatchedFiles {
  return new WatchedFiles({
    files: [file],
    subject: 'the password of Redis',
    maxBytes: MAX_PASSWORD_BYTES,
    load: ([content]) => use(passwordIn(content ?? Buffer.alloc(0), file)),
    log,
    intervalMs,
  });
}

/** An editor ends the file with a line break. A file that is being written is empty, and is no password. */
function passwordIn(content: Buffer, { setting, path }: NamedFile): string {
  const password = content.toString('utf8').replace(/\r?\n$/, '');
  if (password !== '' && !/[\0\r\n]/.test(password)) return password;
  throw new UnusableFile(`${setting}: ${path} must have a password, on one line`);
}

interface Watched {
  readonly hasFailed: boolean;
  start(): Promise<void>;
  close(): void;
}

function openJsonWebTokens(
  { issuer, audience, keys: source, claim }: JwtSettings,
  clock: Clock,
  log: Log,
  intervalMs: number | undefined,
): { readonly tokens: JsonWebTokens; readonly keys: KeySet } {
  const onChanged = (hasWithdrawn: boolean): void => tokens.keysChanged(hasWithdrawn);
  const keys =
    'url' in source
      ? new KeySetUrl({ url: source.url, clock, log, onChanged })
      : new KeySetFile(source, log, onChanged, intervalMs);
  const tokens = new JsonWebTokens({ issuer, audience, claim, keys, clock });
  return { tokens, keys };
}
