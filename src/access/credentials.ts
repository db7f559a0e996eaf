import type { Clock } from '../base/clock';
import { sha256 } from '../base/text';
import {
  type Authenticator,
  type Caller,
  expiredCredential,
  malformedCredential,
  noCredential,
  type PresentedCredentials,
  refusedCredential,
} from './caller';
import { type ClientCertificates, hasConnectionClosed } from './client-certificates';
import type { JsonWebTokens } from './json-web-tokens';
import type { TokenFile } from './tokens';

/** Bound of a bearer token in bytes. */
export const MAX_TOKEN_BYTES = 8192;

/** The characters of a token by RFC 6750. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The token of the metadata `authorization`. Undefined: the call has none. Throws BAD_CREDENTIAL. */
function readBearer(values: readonly string[]): string | undefined {
  const [value, ...others] = values;
  if (value === undefined) return undefined;
  if (others.length > 0) throw malformedCredential('the metadata authorization has several values');
  if (value.length > MAX_TOKEN_BYTES + 'Bearer '.length) {
    throw malformedCredential(`the metadata authorization has ${value.length} bytes`);
  }
  const token = BEARER.exec(value)?.[1];
  if (token === undefined) throw malformedCredential('the metadata authorization is not "Bearer <token>"');
  return token;
}

/** SHA-256 of a token in hexadecimal. Tokens are kept and looked up by this digest only. */
export const tokenDigest = sha256;

/** The configured kinds of credentials. At least one is defined. */
export interface CredentialKinds {
  readonly tokens?: Pick<TokenFile, 'find'> | undefined;
  readonly jsonWebTokens?: Pick<JsonWebTokens, 'find' | 'known'> | undefined;
  readonly certificates?: Pick<ClientCertificates, 'find'> | undefined;
}

/**
 * Proves a caller by a bearer token or by the client certificate. A bad credential is refused even if the call has a
 * good credential too. If a call has a token and a certificate, the bearer token names the caller, and the call ends
 * when the first of the two expires.
 */
export class Credentials implements Authenticator {
  constructor(
    private readonly kinds: CredentialKinds,
    private readonly clock: Clock,
    private readonly onClose: () => void = () => undefined,
  ) {}

  authenticate(call: PresentedCredentials): Caller | Promise<Caller> {
    const { tokens, jsonWebTokens, certificates } = this.kinds;
    const token = readBearer(call.authorization);
    const certified = certificates?.find(call);
    if (token !== undefined) {
      const named = this.bearer(token, call.connection);
      if (certified === undefined) return named;
      return named instanceof Promise ? named.then((one) => both(one, certified)) : both(named, certified);
    }
    if (certified !== undefined) return certified;
    const bearer = tokens !== undefined || jsonWebTokens !== undefined;
    const isUnread = certificates !== undefined && hasConnectionClosed(call.connection);
    throw noCredential({ bearer, certificate: certificates !== undefined }, isUnread);
  }

  known(call: PresentedCredentials): Caller | undefined {
    const { tokens, jsonWebTokens, certificates } = this.kinds;
    try {
      const token = readBearer(call.authorization);
      const certified = certificates?.find(call);
      if (certified !== undefined && this.hasEnded(certified)) return undefined;
      if (token === undefined) return certified;
      const digest = tokenDigest(token);
      const caller = tokens?.find(digest) ?? jsonWebTokens?.known(digest);
      return caller === undefined || this.hasEnded(caller) ? undefined : caller;
    } catch {
      return undefined;
    }
  }

  close(): void {
    this.onClose();
  }

  private bearer(token: string, connection: object): Caller | Promise<Caller> {
    const { tokens, jsonWebTokens } = this.kinds;
    const digest = tokenDigest(token);
    const known = tokens?.find(digest);
    if (known !== undefined) return this.current(known, 'the token of the token file has expired');
    // A JSON web token has two dots.
    if (jsonWebTokens === undefined || token.split('.', 4).length !== 3) {
      throw refusedCredential('the token is in no token file, and is no JSON web token');
    }
    const found = jsonWebTokens.find(token, digest, connection);
    if (found instanceof Promise) return found;
    return this.current(found, 'the JSON web token has expired');
  }

  private current(caller: Caller, ended: string): Caller {
    if (this.hasEnded(caller)) throw expiredCredential(ended);
    return caller;
  }

  private hasEnded({ expiresAt }: Caller): boolean {
    return expiresAt <= this.clock.now();
  }
}

function both(named: Caller, certified: Caller): Caller {
  const expiresAt = Math.min(named.expiresAt, certified.expiresAt);
  return { identity: named.identity, expiresAt, parts: [named, certified] };
}
