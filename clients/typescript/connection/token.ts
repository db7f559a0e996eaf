import { readFile } from 'node:fs/promises';

export interface BearerToken {
  readonly token: string;
  /** The next session is opened with a new token before this time (ms) has passed. Unset: the token does not end. */
  readonly expiresInMs?: number;
}

/** A fixed token, a file that is read again for each session and each call, or a function that gives a token. */
export type TokenOption =
  string | { readonly file: string } | (() => BearerToken | string | Promise<BearerToken | string>);

export type TokenSource = () => Promise<BearerToken>;

/** Undefined: the calls carry no token. */
export function tokenSource(option: TokenOption | undefined): TokenSource | undefined {
  if (option === undefined) return undefined;
  // A file often ends with a line break, which no header may have.
  if (typeof option === 'string') return () => Promise.resolve({ token: option.trim() });
  if (typeof option === 'object') {
    return async () => ({ token: (await readFile(option.file, 'utf8')).trim() });
  }
  return async () => {
    const given = await option();
    return typeof given === 'string' ? { token: given.trim() } : { ...given, token: given.token.trim() };
  };
}
