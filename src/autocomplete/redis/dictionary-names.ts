import type { Commands } from '../../redis/command-runner';
import { confirmed } from '../../redis/node/confirmed';
import type { RawReply } from '../../redis/script-command';
import { textOf } from './entry-replies';

/** A sorted list of dictionary names. In a Cluster it may be on another node than a dictionary. */
export class DictionaryNames {
  constructor(
    private readonly commands: Commands,
    private readonly key: string,
  ) {}

  async register(name: string): Promise<void> {
    await this.commands.query('ZADD', [this.key, 0, name], () => undefined);
  }

  /** Resolves when the name is registered, and the replicas have it. Needs no memory if the name is registered. */
  async keepRegistered(name: string): Promise<void> {
    const isText = (reply: RawReply[]) => (reply as unknown) !== null;
    const read = confirmed(this.key, isText, (isRegistered) => isRegistered);
    if (await this.commands.query('ZSCORE', [this.key, name], read)) return;
    const readAdded = confirmed(
      this.key,
      () => undefined,
      () => true,
    );
    await this.commands.query('ZADD', [this.key, 0, name], readAdded);
  }

  async unregister(name: string): Promise<void> {
    await this.commands.query('ZREM', [this.key, name], () => undefined);
  }

  list(beginning: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    const from = after === undefined || after < beginning ? `[${beginning}` : `(${after}`;
    // No UTF-8 text contains the byte 255, so this key follows every name with this prefix.
    const to = Buffer.concat([Buffer.from(`(${beginning}`), Buffer.from([255])]);
    return this.commands.query('ZRANGEBYLEX', [this.key, from, to, 'LIMIT', 0, limit], (names) =>
      names.map(textOf),
    );
  }
}
