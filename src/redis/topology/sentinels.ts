import { Redis } from 'ioredis';
import type { Clock, Timer } from '../../engine/clock';
import { userOptions, type Host, type RedisOptions, type User } from '../address';

export interface SentinelsOptions {
  readonly sentinels: readonly Host[];
  /** As the sentinels call the master. */
  readonly master: string;
  readonly user: User | undefined;
  readonly tls: Pick<RedisOptions, 'tls'>;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

/** What a sentinel says of the master. */
interface View {
  readonly master: Host;
  /** Of the failover by which it became one: a sentinel that has not heard of the last one has an older one. */
  readonly epoch: number;
}

const ASK_INTERVAL_MS = 1000;
const ANSWER_TIMEOUT_MS = 500;
/** For so long the others are waited for once one has answered: it may not have heard of the last failover. */
const SECOND_OPINION_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/**
 * Asks all sentinels who the master is, now and then, and believes the one that knows of the last failover. So a master
 * that was cut off together with some sentinels is left as soon as another one can be heard of.
 */
export class Sentinels {
  private readonly clients: readonly Redis[];
  private readonly listeners: ((master: Host) => void)[] = [];
  private timer: Timer | undefined;
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
        commandTimeout: ANSWER_TIMEOUT_MS,
        connectTimeout: LONGEST_PAUSE_MS,
        // ioredis would keep every question to a sentinel that is gone, and put them all when it is back.
        enableOfflineQueue: false,
        maxRetriesPerRequest: null,
        disconnectTimeout: ANSWER_TIMEOUT_MS,
        retryStrategy: (attempt: number) => Math.min(50 * attempt, LONGEST_PAUSE_MS),
      });
      client.on('error', onError);
      return client;
    });
    this.watch();
  }

  /** Who the master is, as far as anybody says; rejects if nobody does. */
  async master(): Promise<Host> {
    await this.refresh();
    if (!this.known) throw new Error(`no sentinel names a master "${this.options.master}"`);
    return this.known.master;
  }

  /** Calls when another one has become master. */
  onChange(listener: (master: Host) => void): void {
    this.listeners.push(listener);
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
    for (const client of this.clients) client.disconnect();
  }

  private watch(): void {
    this.timer = this.options.clock.after(ASK_INTERVAL_MS, () => {
      this.refresh()
        .finally(() => {
          if (!this.closed) this.watch();
        })
        .catch(this.options.onError);
    });
  }

  private async refresh(): Promise<void> {
    const { newest, isUnanimous } = await this.ask();
    const before = this.known;
    if (!newest || this.closed) return;
    // Sentinels that were set up anew begin to count anew: then none of them knows of what we know.
    if (before && newest.epoch < before.epoch && !isUnanimous) return;
    this.known = newest;
    const { host, port } = newest.master;
    if (before?.master.host === host && before.master.port === port) return;
    for (const listener of this.listeners) listener(newest.master);
  }

  private ask(): Promise<{ newest: View | undefined; isUnanimous: boolean }> {
    const { clock, onError } = this.options;
    return new Promise((resolve) => {
      let newest: View | undefined;
      let answered = 0;
      let open = this.clients.length;
      const finish = () => {
        timer.cancel();
        resolve({ newest, isUnanimous: answered === this.clients.length });
      };
      let timer = clock.after(ANSWER_TIMEOUT_MS, finish);
      for (const client of this.clients) {
        this.viewOf(client)
          .then(
            (view) => {
              answered += 1;
              if (!newest) {
                timer.cancel();
                timer = clock.after(SECOND_OPINION_MS, finish);
              }
              if (!newest || view.epoch > newest.epoch) newest = view;
            },
            (error: unknown) => onError(error as Error),
          )
          .then(() => {
            open -= 1;
            if (open === 0) finish();
          })
          .catch(onError);
      }
    });
  }

  private async viewOf(client: Redis): Promise<View> {
    if (client.status !== 'ready') await this.ready(client);
    const flat = (await client.call('SENTINEL', 'MASTER', this.options.master)) as string[];
    const fields = new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : [])));
    const epoch = Number(fields.get('config-epoch'));
    return { master: { host: fields.get('ip') ?? '', port: Number(fields.get('port')) }, epoch };
  }
  private ready(client: Redis): Promise<void> {
    return new Promise((resolve, reject) => {
      const goOn = () => {
        timer.cancel();
        resolve();
      };
      const timer = this.options.clock.after(ANSWER_TIMEOUT_MS, () => {
        client.off('ready', goOn);
        reject(new Error('a sentinel cannot be reached'));
      });
      client.once('ready', goOn);
    });
  }
}
