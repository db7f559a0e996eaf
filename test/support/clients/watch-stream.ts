import type { ClientReadableStream, StatusObject } from '@grpc/grpc-js';
import { endingOf, type Ending } from './call-ending';
import { present } from './unary-call';

/** Collects the states of a watch stream in order, and its ending. */
export class WatchStream<State, Message = unknown> {
  readonly states: State[] = [];
  /** `performance.now()` at the receipt of each state. */
  readonly times: number[] = [];
  readonly ending: Promise<Ending>;
  private waiting: (() => void)[] = [];
  private over = false;
  private taken = 0;

  /** `call`: a call of the generated stub. `read` takes the state out of a message. */
  constructor(
    private readonly call: ClientReadableStream<Message>,
    read: (message: Message) => State | undefined,
  ) {
    call.on('data', (message: Message) => {
      this.states.push(present(read(message)));
      this.times.push(performance.now());
      this.wake();
    });
    // The event 'status' also has the ending. An event 'error' without a listener throws.
    call.on('error', () => undefined);
    const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
    const lastRead = new Promise<void>((resolve) => call.on('end', resolve));
    this.ending = Promise.all([status, lastRead]).then(([ended]) =>
      endingOf(Object.assign(new Error(), ended)),
    );
    void this.ending.then(() => {
      this.over = true;
      this.wake();
    });
  }

  /** The next state in order. */
  next(): Promise<State> {
    return this.until(() => true);
  }

  /** The next state of this kind. Other states are skipped. */
  async until(isWanted: (state: State) => boolean): Promise<State> {
    for (;;) {
      const state = this.states[this.taken];
      if (state !== undefined) {
        this.taken += 1;
        if (isWanted(state)) return state;
      } else if (this.over) {
        const { code, reason } = await this.ending;
        throw new Error(`the watch ended with ${code}/${reason} after ${this.states.length} states`);
      } else {
        await new Promise<void>((resolve) => this.waiting.push(resolve));
      }
    }
  }

  /** Stops reading, so that the server's messages fill the buffers. */
  pause(): void {
    this.call.pause();
  }

  resume(): void {
    this.call.resume();
  }

  cancel(): void {
    this.call.cancel();
  }

  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
