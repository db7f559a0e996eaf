import type { Log } from '../base/log';
import type { KeySet } from './key-set';
import { PresentKeys, type KeysChanged } from './present-keys';
import { UnusableFile, WatchedFiles, type NamedFile } from './watched-files';

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
