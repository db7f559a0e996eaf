import type { ClientReadableStream, StatusObject } from '@grpc/grpc-js';
import type { HoldEvent } from '../../../generated/typescript/holdfast/v1/lease';
import { type Ending, endingOf, present } from './calls';

/** The generated stub's call of a hold stream, of either service. */
export type HoldCall = ClientReadableStream<{ holdEvent?: HoldEvent | undefined }>;

type EventCase = NonNullable<HoldEvent['event']>;
type EventKind = EventCase['$case'];
type EventValue<Kind extends EventKind> = Extract<EventCase, { $case: Kind }>['value'];

export interface Received {
  /** `performance.now()` at the receipt of the event. */
  readonly at: number;
  readonly event: EventCase;
}

/** Collects the events of a hold stream in order, and its ending. */
export class HoldStream {
  readonly received: Received[] = [];
  /** `performance.now()` when the stream was opened. */
  readonly openedAt = performance.now();
  readonly ending: Promise<Ending>;
  private waiting: (() => void)[] = [];
  private over = false;
  private taken = 0;

  constructor(private readonly call: HoldCall) {
    call.on('data', (response: { holdEvent?: HoldEvent | undefined }) => {
      const event = present(response.holdEvent?.event);
      this.received.push({ at: performance.now(), event });
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

  /** The kinds of all events so far, in order and with repetitions. */
  get kinds(): EventKind[] {
    return this.received.map(({ event }) => event.$case);
  }

  /** The next event in order. Throws if the event is of another kind. */
  async next<Kind extends EventKind>(kind: Kind): Promise<EventValue<Kind>> {
    const { event } = await this.take();
    if (event.$case !== kind) throw new Error(`expected ${kind} as the next event, got ${event.$case}`);
    return event.value as EventValue<Kind>;
  }

  /** The next event of this kind. Events of other kinds are skipped. */
  async until<Kind extends EventKind>(kind: Kind): Promise<EventValue<Kind>> {
    for (;;) {
      const { event } = await this.take();
      if (event.$case === kind) return event.value as EventValue<Kind>;
    }
  }

  cancel(): void {
    this.call.cancel();
  }

  private async take(): Promise<Received> {
    for (;;) {
      const next = this.received[this.taken];
      if (next !== undefined) {
        this.taken += 1;
        return next;
      }
      if (this.over) {
        const { code, reason } = await this.ending;
        throw new Error(
          `the stream ended with ${code}/${reason} after ${this.kinds.join(', ') || 'no event'}`,
        );
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

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
