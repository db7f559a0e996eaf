import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector } from 'ioredis';
import type { Host, RedisOptions } from '../address';
import type { Sentinels } from './sentinels';

/** Before the sentinels are asked again where none of them named a master. */
const PAUSE_MS = 200;
const DISCONNECT_TIMEOUT_MS = 50;

/**
 * For ioredis: connects, each time, to the master that the sentinels name then. A Redis that is no master is left at
 * once, and so is one in whose place another one has come.
 */
export function connectorFor(sentinels: Sentinels, { tls }: Pick<RedisOptions, 'tls'>) {
  return class MasterConnector extends AbstractConnector {
    /** To whom there is a connection, or one is being made. */
    private master: Host | undefined;

    constructor() {
      super(DISCONNECT_TIMEOUT_MS);
      sentinels.onChange(({ host, port }) => {
        if (this.master && (this.master.host !== host || this.master.port !== port)) this.disconnect();
      });
    }

    override check(info: { readonly role?: string }): boolean {
      return info.role === undefined || info.role === 'master';
    }

    /** Goes on until there is a master: ioredis would not try again by itself. */
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

    private open(master: Host): Socket {
      this.master = master;
      const stream = tls ? connectTls({ ...master, ...(tls as object) }) : connectTcp({ ...master });
      stream.once('error', (error: Error) => (this.firstError = error));
      this.stream = stream;
      return stream;
    }
  };
}
