import { open } from 'node:fs/promises';
import { invalidOption, toMs, type TimeSpan } from '../time-span';

/** A token with its life. */
export interface GivenToken {
  readonly token: string;
  /** The next session is opened with a new token before this time has passed. Default: the token does not end. */
  readonly expiresIn?: TimeSpan | undefined;
}

/** A fixed token, a file that is read again for each session and each call, or a function that gives a token. */
export type TokenOption =
  string | { readonly file: string } | (() => GivenToken | string | Promise<GivenToken | string>);

export interface BearerToken {
  readonly token: string;
  readonly expiresInMs?: number;
}

export type TokenSource = () => Promise<BearerToken>;

/** Undefined: the calls carry no token. Throws an InvalidRequestError for a value of another kind. */
export function tokenSource(option: TokenOption | undefined): TokenSource | undefined {
  if (option === undefined) return undefined;
  if (typeof option === 'string') return async () => bearer(option);
  if (typeof option === 'function') return async () => given(await option());
  const file: unknown = (option as { file?: unknown } | null)?.file;
  if (typeof file !== 'string') throw invalidOption('token', 'a text, { file: path }, or a function');
  return async () => bearer(await tokenText(file));
}

/** Tokens have at most some kilobytes, and a path by mistake may name a large file or an endless device. */
export const MAX_TOKEN_FILE_BYTES = 65_536;

/** @internal The text of a file or a pipe. Rejects if the file is larger than the bound. */
export async function tokenText(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const bytes = Buffer.alloc(MAX_TOKEN_FILE_BYTES + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) return bytes.toString('utf8', 0, length);
      length += bytesRead;
    }
    throw new Error(`the token file ${file} has more than ${MAX_TOKEN_FILE_BYTES} bytes`);
  } finally {
    await handle.close();
  }
}

function given(answer: GivenToken | string): BearerToken {
  if (typeof answer === 'string') return bearer(answer);
  const { token, expiresIn } = (answer as Partial<GivenToken> | null | undefined) ?? {};
  if (typeof token !== 'string') throw new Error('the token callback has given neither a text nor { token }');
  return expiresIn === undefined
    ? bearer(token)
    : { ...bearer(token), expiresInMs: toMs(expiresIn, 'expiresIn') };
}

/** A file often ends with a line break, which no header may have. Throws an error that does not show the token. */
function bearer(text: string): BearerToken {
  const token = text.trim();
  if (!/^[\x20-\x7e]+$/.test(token))
    throw new Error('the token is empty, or has characters that no header may have');
  return { token };
}
