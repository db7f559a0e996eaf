import type { Redis } from 'ioredis';
import { isReplyError } from './failure-class';

/**
 * The password of a file that may change, for all connections to Redis. Redis knows two passwords while an operator
 * changes the password, and an open connection stays authenticated when its password is removed. So a change ends no
 * connection: open ones prove the new password by one AUTH, and later ones are made with it.
 */
export class RedisPassword {
  private current: string | undefined;
  /** The last password before `current` that Redis has not refused. */
  private previous: string | undefined;
  private isRefused = false;
  private readonly clients = new Set<Redis>();

  /**
   * Uses the password from now on. Rejects if Redis refuses it on an open connection, which then keeps the password that it
   * has, and may be called again with the same password.
   */
  async use(password: string): Promise<void> {
    if (password !== this.current) {
      if (!this.isRefused) this.previous = this.current;
      this.current = password;
    }
    const clients = [...this.clients];
    const answers = await Promise.all(clients.map((client) => this.pass(client, password)));
    const refused = answers.filter((isAccepted) => !isAccepted).length;
    this.isRefused = refused > 0;
    if (!this.isRefused) return;
    throw new Error(
      `Redis refuses the new password on ${refused} of ${clients.length} connections, which stay open with the password before; add the new password to the Redis user on every node`,
    );
  }

  /** For a new client. Undefined: no password is known yet. */
  get present(): string | undefined {
    return this.current;
  }

  /** The client, which has the present password, gets each later one until its end. It is not opened again. */
  follow(client: Redis): void {
    this.clients.add(client);
    client.on('error', (error: Error) => {
      if (error.message.startsWith('WRONGPASS')) this.tryOther(client);
    });
    client.on('end', () => this.clients.delete(client));
  }

  /** False: Redis refuses the password. */
  private async pass(client: Redis, password: string): Promise<boolean> {
    if (client.options.password === password) return true;
    // A connection with subscriptions may not send AUTH.
    if (client.status === 'ready' && !client.condition?.subscriber) {
      const { username } = client.options;
      try {
        await client.call('AUTH', ...(username ? [username, password] : [password]));
      } catch (error) {
        // Without an answer, the next connection shows whether Redis knows the password.
        if (isReplyError(error)) return false;
      }
    }
    client.options.password = password;
    return true;
  }

  /** A node may know only the new password already, or not yet. */
  private tryOther(client: Redis): void {
    const { current, previous } = this;
    if (previous === undefined) return;
    client.options.password = client.options.password === current ? previous : current;
  }
}
