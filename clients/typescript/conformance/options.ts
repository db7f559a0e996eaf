import type { LockOptions, PermitsOptions, TlsOptions, TokenOption } from '..';
import type { Desk } from './desk';

export type Fields = Readonly<Record<string, unknown>>;
export type Serve = (desk: Desk, fields: Fields) => Promise<object>;

/** Without the options that the case leaves to the library. */
export function given(options: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

export function tlsOptions({ ca, cert, key, server_name: serverName }: Record<string, string>): TlsOptions {
  return given({ ca, cert, key, serverName });
}

export function tokenOf(fields: Fields): TokenOption | undefined {
  const fixed = fields['token'] as string | undefined;
  const tokens = fields['tokens'] as (string | null)[] | undefined;
  const expiresIn = fields['token_expires_in_ms'] as number | undefined;
  if (tokens === undefined) return fixed;
  let count = 0;
  return () => {
    const token = tokens[Math.min(count, tokens.length - 1)];
    count += 1;
    if (token === undefined || token === null) return new Promise<never>(() => undefined);
    return expiresIn === undefined ? { token } : { token, expiresIn };
  };
}

export function lockOptions(fields: Fields): LockOptions {
  return given({
    ttl: fields['ttl_ms'],
    wait: fields['wait_ms'],
    maxHold: fields['max_hold_ms'],
    metadata: fields['metadata'],
    mode: fields['mode'],
  });
}

export function permitsOptions(fields: Fields): PermitsOptions {
  return {
    ...lockOptions(fields),
    ...given({ permits: fields['permits'], limit: fields['limit'], exactLimit: fields['exact_limit'] }),
  };
}
