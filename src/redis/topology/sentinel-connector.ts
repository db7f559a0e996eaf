import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector } from 'ioredis';
import type { RedisHost } from '../../base/redis-address';
import type { RedisOptions } from '../endpoint';
import type { Sentinels } from './sentinels';

/** The pause before the next question if no sentinel has named a master. */
const PAUSE_MS = 200;
const DISCONNECT_TIMEOUT_MS = 50;

/**
 * A connector for ioredis: each connection goes to the present master of the sentinels. A connection to a Redis that is
 * not the master, or no longer the master, is closed immediately.
 */
export function connectorFor(sentinels: Sentinels, { tls }: Pick<RedisOptions, 'tls'>) {
  return class MasterConnector extends AbstractConnector {
    /** The target of the present connection, or of the connection being made. */
    private master: RedisHost | undefined;

    constructor() {
      super(DISCONNECT_TIMEOUT_MS);
      sentinels.onChange(({ host, port }) => {
        if (this.master && (this.master.host !== host || this.master.port !== port)) this.disconnect();
      });
    }

    override check(info: { readonly role?: string }): boolean {
      return info.role === undefined || info.role === 'master';
    }

    /** Tries until there is a master, because ioredis would not try again. */
    override async connect(report: (type: string, error: Error) => void): Promise<Socket> {
      this.connecting = true;
      this.master = undefined;
      for (;;) {
        const master = await sentinels.master().catch((error: Error) => {
          report('error', error);
          return undefined;
        });
        if (!this.connecting) throw new Error('Connection is closed.');
        if (master) return this.open(master);
        await sleep(PAUSE_MS);
      }
    }

    private open(master: RedisHost): Socket {
      this.master = master;
      const stream = tls ? connectTls({ ...master, ...(tls as object) }) : connectTcp({ ...master });
      stream.once('error', (error: Error) => (this.firstError = error));
      this.stream = stream;
      return stream;
    }
  };
}
