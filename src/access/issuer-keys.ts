import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import type { Log } from '../base/log';
import { type NamedFile, UnusableFile, WatchedFiles } from './watched-files';

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

interface ReadKeys {
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

const MAX_FILE_BYTES = 2 ** 18;

export class KeySetFile implements KeySet {
  private readonly present: PresentKeys;
  private readonly watched: WatchedFiles;

  constructor(file: NamedFile, log: Log, onChanged: KeysChanged, intervalMs?: number) {
    this.present = new PresentKeys(log, onChanged);
    this.watched = new WatchedFiles({
      files: [file],
      subject: 'the keys of the issuer',
      maxBytes: MAX_FILE_BYTES,
      log,
      intervalMs,
      load: ([content]) => {
        try {
          this.present.replace(String(content));
        } catch (cause) {
          throw new UnusableFile(`${file.setting} cannot be used: ${String(cause)}`, { cause });
        }
      },
    });
  }

  get find(): KeySet['find'] {
    return this.present.find;
  }

  /** The file is looked at regularly, so there is nothing to request. */
  renew(): Promise<boolean> {
    return Promise.resolve(false);
  }

  start(): Promise<void> {
    return this.watched.start();
  }

  get hasFailed(): boolean {
    return this.watched.hasFailed;
  }

  close(): void {
    this.watched.close();
  }
}
