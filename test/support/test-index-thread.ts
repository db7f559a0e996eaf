import { IndexThread, type ThreadCalls } from '../../src/autocomplete/loaded/thread-calls';

const SETTINGS = { nice: 0, dutyCycle: 1 };

/** An index thread that tests delay and end. */
export class TestIndexThread extends IndexThread {
  /** Called before each call, with its name. */
  before: (call: string) => void | Promise<void> = () => undefined;
  #losses = 0;
  #thread = new IndexThread(SETTINGS);

  constructor() {
    super(SETTINGS);
  }

  override async call<Name extends keyof ThreadCalls>(
    name: Name,
    value: ThreadCalls[Name]['takes'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<ThreadCalls[Name]['answers']> {
    // The calls of one turn stay in their order.
    const delay = this.before(name);
    if (delay) await delay;
    return this.#thread.call(name, value, transfer);
  }

  override get lossCount(): number {
    return this.#losses;
  }

  override close(): Promise<void> {
    return this.#thread.close();
  }

  /** Ends the thread. The next call starts another one. */
  async lose(): Promise<void> {
    const lost = this.#thread;
    this.#thread = new IndexThread(SETTINGS);
    this.#losses += 1;
    await lost.close();
  }
}
