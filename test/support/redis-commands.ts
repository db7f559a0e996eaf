import type { Commands } from '../../src/redis/commands';
import type { Script } from '../../src/redis/script';
import type { RedisProcess } from './processes/redis-process';

/** Thrown instead of an answer: the process of the server has stopped. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}

/** What happens to the commands of one call. */
export type Fault =
  | { readonly kind: 'none' }
  /** Each script is sent twice, as after a lost reply. The answer is of the second script. */
  | { readonly kind: 'repeated' }
  /** The server stops before or after its command with this number, from 0. */
  | { readonly kind: 'stopped'; readonly at: number; readonly ran: boolean };

/** Later than any time of Redis (us). */
const NEVER = '9007199254740991';
const MAY_HAVE_RUN = '1';

/** A deletion of nothing and a selection of nothing leave no trace, so they may run again. */
function hasEffect(answer: unknown): boolean {
  const { effect = 1 } = answer as { effect?: number };
  return effect > 0;
}

/** Commands of a server with a fault. */
export class UnreliableCommands {
  private fault: Fault = { kind: 'none' };
  private sent = 0;
  private repetitions: (() => Promise<unknown>)[] = [];

  constructor(
    private readonly inner: Commands,
    private readonly variantOf: (script: Script) => Script = (script) => script,
  ) {}

  begin(fault: Fault): void {
    this.fault = fault;
    this.sent = 0;
    this.repetitions = [];
  }

  /** Sends the timed scripts of the call with an effect again, as if their replies had been lost. */
  get timedAgain(): readonly (() => Promise<unknown>)[] {
    return this.repetitions;
  }

  get commands(): Commands {
    const { inner } = this;
    return {
      reportOf: inner.reportOf.bind(inner),
      send: async (command) => {
        if (command.isRaw !== true) return inner.send(command);
        const run = typeof command.run === 'string' ? command.run : this.variantOf(command.run);
        const first = () => inner.send({ ...command, run });
        if (typeof run === 'string' || !run.isTimed) return this.send(first, first);
        const args = [...command.args, NEVER, MAY_HAVE_RUN];
        const again = () => inner.send({ ...command, run: { ...run, isTimed: false }, args });
        const answer = await this.send(first, again);
        if (hasEffect(answer)) this.repetitions.push(again);
        return answer;
      },
    };
  }

  private async send<T>(first: () => Promise<T>, again: () => Promise<T>): Promise<T> {
    const { fault } = this;
    const number = this.sent++;
    if (fault.kind === 'stopped' && number >= fault.at) {
      if (fault.ran && number === fault.at) await first();
      throw new Stopped();
    }
    const answer = await first();
    return fault.kind === 'repeated' ? again() : answer;
  }
}

/** The commands that one Redis ran, by its slow log. */
export class RecordedCommands {
  private constructor(private readonly redis: RedisProcess) {}

  /** Records all commands from now on. */
  static async start(redis: RedisProcess): Promise<RecordedCommands> {
    await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100000');
    await redis.command('SLOWLOG', 'RESET');
    return new RecordedCommands(redis);
  }

  /** The number of commands with this text among their arguments. */
  async countWith(text: string): Promise<number> {
    const entries = (await this.redis.command('SLOWLOG', 'GET', '-1')) as readonly (readonly unknown[])[];
    return entries.filter((one) => JSON.stringify(one[3]).includes(text)).length;
  }

  async stop(): Promise<void> {
    await this.redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '-1');
    await this.redis.command('SLOWLOG', 'RESET');
  }
}
