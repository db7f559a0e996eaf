import type { JWTVerifyGetKey } from 'jose';
import type { Log } from '../grpc/log';
import { KeysUnavailable, readKeySet, type KeySet } from './key-set';
import { UnusableFile, WatchedFiles, type NamedFile } from './watched-files';

const MAX_FILE_BYTES = 2 ** 18;

/** A key set in a file. */
export class KeySetFile implements KeySet {
  private current: JWTVerifyGetKey | undefined;
  private readonly watched: WatchedFiles;

  constructor(file: NamedFile, log: Log, onChanged: () => void, intervalMs?: number) {
    this.watched = new WatchedFiles({
      files: [file],
      subject: 'the keys of the issuer',
      maxBytes: MAX_FILE_BYTES,
      log,
      intervalMs,
      load: ([content]) => {
        try {
          this.current = readKeySet(String(content)).find;
        } catch (cause) {
          throw new UnusableFile(`${file.setting} cannot be used: ${String(cause)}`, { cause });
        }
        onChanged();
      },
    });
  }

  readonly find: JWTVerifyGetKey = (header, token) => {
    if (this.current === undefined) throw new KeysUnavailable('the key set is not loaded');
    return this.current(header, token);
  };

  start(): Promise<void> {
    return this.watched.start();
  }

  close(): void {
    this.watched.close();
  }
}
