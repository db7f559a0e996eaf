import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis } from 'ioredis';
import type { Clock } from '../../base/clock';
import { Rounds } from '../../flow/rerun';
import { answersInTime } from '../../flow/waiting';
import type { RedisHost, RedisUser } from '../../base/redis-address';
import { type RedisOptions, userOptions } from '../endpoint';

export interface SentinelsOptions {
  readonly sentinels: readonly RedisHost[];
  /** The name of the master among the sentinels. */
  readonly master: string;
  readonly user: RedisUser | undefined;
  readonly tls: Pick<RedisOptions, 'tls'>;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

/** The master as one sentinel sees it. */
interface View {
  readonly master: RedisHost;
  /** The number of the failover to this master. A sentinel that does not know the last failover has a lower number. */
  readonly failoverEpoch: number;
}

const ASK_INTERVAL_MS = 1000;
const ANSWER_TIMEOUT_MS = 500;
/** How long the server waits for more answers after the first: that sentinel may not know the last failover. */
const SECOND_OPINION_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/**
 * Asks all sentinels for the master, about once a second, and uses the answer with the newest failover. So the server
 * leaves a master that was cut off together with some sentinels as soon as one sentinel knows the new master.
 */
export class Sentinels {
  private readonly clients: readonly Redis[];
  private readonly listeners: ((master: RedisHost) => void)[] = [];
  private readonly rounds: Rounds;
  private known: View | undefined;
  private closed = false;

  constructor(private readonly options: SentinelsOptions) {
    const { sentinels, user, tls, onError } = options;
    this.clients = sentinels.map(({ host, port }) => {
      const client = new Redis({
        host,
        port,
        ...(user && userOptions(user)),
        ...tls,
        protocol: 2,
        enableReadyCheck: false,
        disableClientInfo: true,
        commandTimeout: ANSWER_TIMEOUT_MS,
        connectTimeout: LONGEST_PAUSE_MS,
        // Otherwise ioredis would queue every question to an unreachable sentinel.
        enableOfflineQueue: false,
        maxRetriesPerRequest: null,
        disconnectTimeout: ANSWER_TIMEOUT_MS,
        retryStrategy: (attempt: number) => Math.min(50 * attempt, LONGEST_PAUSE_MS),
      });
      client.on('error', onError);
      return client;
    });
    const { clock } = options;
    this.rounds = new Rounds({ clock, pauseMs: ASK_INTERVAL_MS, onError }, () => this.refresh());
  }

  /** The present master. Rejects if no sentinel has ever named one. */
  async master(): Promise<RedisHost> {
    await this.refresh();
    if (!this.known)
      throw new Error(
        `no sentinel names a master "${this.options.master}": check the addresses of the sentinels and the name of the master`,
      );
    return this.known.master;
  }

  /** Calls the listener when the master has changed. */
  onChange(listener: (master: RedisHost) => void): void {
    this.listeners.push(listener);
  }

  close(): void {
    this.closed = true;
    this.rounds.end();
    for (const client of this.clients) client.disconnect();
  }

  private async refresh(): Promise<void> {
    const { clock, onError } = this.options;
    const times = { clock, firstMs: ANSWER_TIMEOUT_MS, othersMs: SECOND_OPINION_MS, onError };
    const views = await answersInTime(
      this.clients.map((client) => this.viewOf(client)),
      times,
    );
    const [newest] = [...views].sort((a, b) => b.failoverEpoch - a.failoverEpoch);
    const isUnanimous = views.length === this.clients.length;
    const before = this.known;
    if (!newest || this.closed) return;
    // Only newly installed sentinels count failovers from the start again. Then all sentinels answer lower numbers.
    if (before && newest.failoverEpoch < before.failoverEpoch && !isUnanimous) return;
    this.known = newest;
    const { host, port } = newest.master;
    if (before?.master.host === host && before.master.port === port) return;
    for (const listener of this.listeners) listener(newest.master);
  }

  private async viewOf(client: Redis): Promise<View> {
    if (client.status !== 'ready') await this.ready(client);
    const flat = (await client.call('SENTINEL', 'MASTER', this.options.master)) as string[];
    const fields = new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])));
    const master = { host: fields.get('ip') ?? '', port: Number(fields.get('port')) };
    return { master, failoverEpoch: Number(fields.get('config-epoch')) };
  }

  private ready(client: Redis): Promise<void> {
    return new Promise((resolve, reject) => {
      const onReady = () => {
        timer.cancel();
        resolve();
      };
      const timer = this.options.clock.after(ANSWER_TIMEOUT_MS, () => {
        client.off('ready', onReady);
        reject(new Error(`a sentinel does not answer within ${ANSWER_TIMEOUT_MS} ms`));
      });
      client.once('ready', onReady);
    });
  }
}

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
