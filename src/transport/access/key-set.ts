import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';

/** The public keys of an issuer of JSON web tokens. */
export interface KeySet {
  /**
   * The key of a token. Rejects with an error of jose if no key fits, or with a KeysUnavailable. Waits at most for one
   * request to the issuer.
   */
  readonly find: JWTVerifyGetKey;
  /** Rejects only if a file cannot be used. */
  start(): Promise<void>;
  close(): void;
}

/** There are no current keys, so no token can be checked. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/** The most keys of one set. */
const MAX_KEYS = 100;
const KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];

/** Reads a JSON Web Key Set. Symmetric keys are left out, because their holders could make tokens. */
export function readKeySet(text: string): { readonly find: JWTVerifyGetKey; readonly keyCount: number } {
  const set = JSON.parse(text) as { keys?: unknown } | null;
  const keys: unknown = set?.keys;
  if (!Array.isArray(keys)) throw new Error('the text is no JSON Web Key Set: it has no list "keys"');
  if (keys.length > MAX_KEYS)
    throw new Error(`the key set has ${keys.length} keys; at most ${MAX_KEYS} are accepted`);
  const usable = keys.filter((key: unknown) => KINDS.includes((key as JWK | null)?.kty)) as JWK[];
  if (usable.length === 0) throw new Error('the key set has no key of kind RSA, EC or OKP');
  return { find: createLocalJWKSet({ keys: usable }), keyCount: usable.length };
}
