import type { JWTVerifyGetKey } from 'jose';
import type { Log } from '../base/log';
import { KeysUnavailable, readKeySet, type ReadKeys } from './key-set';

/** Called when an issuer has published other keys. `hasWithdrawn`: one of the keys before is no longer published. */
export type KeysChanged = (hasWithdrawn: boolean) => void;

/** The keys of the key set that was read last. */
export class PresentKeys {
  private current: ReadKeys | undefined;

  constructor(
    private readonly log: Log,
    private readonly onChanged: KeysChanged,
  ) {}

  readonly find: JWTVerifyGetKey = (header, token) => {
    if (this.current === undefined) throw new KeysUnavailable('the keys of the issuer are not loaded');
    return this.current.find(header, token);
  };

  /** Throws, and changes nothing, if the text is no key set. Another order of the same keys is no change. */
  replace(text: string): void {
    const before = this.current?.texts;
    const read = readKeySet(text);
    this.current = read;
    const hasWithdrawn = before !== undefined && [...before].some((key) => !read.texts.has(key));
    if (before !== undefined && !hasWithdrawn && before.size === read.texts.size) return;
    if (read.texts.size === 0) {
      this.log.warn({}, 'the key set has no key of kind RSA, EC or OKP: all JSON web tokens are refused');
    }
    this.onChanged(hasWithdrawn);
  }
}
