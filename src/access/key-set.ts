import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';

/** The public keys of an issuer of JSON web tokens. */
export interface KeySet {
  /** The key of a token among the present keys. Rejects with an error of jose if no key fits, or with a KeysUnavailable. */
  readonly find: JWTVerifyGetKey;
  /** Requests the keys of the issuer. Resolves to false, without a request, if the last request is too recent. */
  renew(): Promise<boolean>;
  /** Rejects only if a file cannot be used. */
  start(): Promise<void>;
  /** Whether the last look at the file, or the last request, has failed, so that there are older keys or none. */
  readonly hasFailed: boolean;
  close(): void;
}

/** There are no current keys, so no token can be checked. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/** The most keys of one set. */
const MAX_KEYS = 100;
const KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];

export interface ReadKeys {
  readonly find: JWTVerifyGetKey;
  /** One text for each key. Equal keys have equal texts. */
  readonly texts: ReadonlySet<string>;
}

/**
 * Reads a JSON Web Key Set. Symmetric keys are left out, because their holders could make tokens. A set without keys is
 * good: its issuer has withdrawn all keys.
 */
export function readKeySet(text: string): ReadKeys {
  const set = JSON.parse(text) as { keys?: unknown } | null;
  const keys: unknown = set?.keys;
  if (!Array.isArray(keys)) throw new Error('the text is no JSON Web Key Set: it has no list "keys"');
  if (keys.length > MAX_KEYS)
    throw new Error(`the key set has ${keys.length} keys; at most ${MAX_KEYS} are accepted`);
  const usable = keys.filter((key: unknown) => KINDS.includes((key as JWK | null)?.kty)) as JWK[];
  return { find: createLocalJWKSet({ keys: usable }), texts: new Set(usable.map(textOf)) };
}

function textOf(key: JWK): string {
  return JSON.stringify(Object.entries(key).sort(([one], [other]) => (one < other ? -1 : 1)));
}
