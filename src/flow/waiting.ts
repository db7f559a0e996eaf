import type { Clock } from '../base/clock';

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

export interface AnswerTimes {
  readonly clock: Clock;
  /** How long the first answer may take (ms). */
  readonly firstMs: number;
  /** How long all others may take after the first (ms). */
  readonly othersMs: number;
  /** Called with the error of a question that fails. */
  readonly onError: (error: Error) => void;
}

/** Asks several at once, and resolves to the answers that have come in time: the earliest first, perhaps none. */
export function answersInTime<T>(
  questions: readonly Promise<T>[],
  { clock, firstMs, othersMs, onError }: AnswerTimes,
): Promise<readonly T[]> {
  if (questions.length === 0) return Promise.resolve([]);
  return new Promise((resolve) => {
    const answers: T[] = [];
    let openCount = questions.length;
    const finish = (): void => {
      timer.cancel();
      resolve([...answers]);
    };
    let timer = clock.after(firstMs, finish);
    const onAnswer = (answer: T): void => {
      if (answers.push(answer) > 1) return;
      timer.cancel();
      timer = clock.after(othersMs, finish);
    };
    for (const question of questions) {
      question
        .then(onAnswer, onError)
        .finally(() => {
          openCount -= 1;
          if (openCount === 0) finish();
        })
        .catch(onError);
    }
  });
}

/** Lets any number of callers wait for the next call of `changed`. */
export class ChangeSignal {
  private readonly waiting = new Set<() => void>();
  private closed = false;

  constructor(private readonly clock: Clock) {}

  /** Resolves with false if nothing changes before the deadline, or after `close`. */
  before(deadline: number): Promise<boolean> {
    const remainingMs = deadline - this.clock.now();
    if (this.closed || remainingMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (changed: boolean) => {
        timer.cancel();
        this.waiting.delete(onChange);
        resolve(changed);
      };
      const onChange = () => finish(!this.closed);
      const timer = this.clock.after(remainingMs, () => finish(false));
      this.waiting.add(onChange);
    });
  }

  changed(): void {
    for (const onChange of [...this.waiting]) onChange();
  }

  close(): void {
    this.closed = true;
    this.changed();
  }
}

/** A load took longer than the caller can wait. The load continues. */
export class OutOfPatience extends Error {
  override readonly name = 'OutOfPatience';
}

/** How long a caller can wait, from now on. */
export class Patience {
  private readonly endsAt: number;

  constructor(
    patienceMs: number,
    private readonly clock: Clock,
  ) {
    this.endsAt = clock.now() + patienceMs;
  }

  /** True: the caller waits no longer. */
  get isOver(): boolean {
    return this.endsAt <= this.clock.now();
  }

  /** Resolves or rejects with the load, or rejects with `OutOfPatience`. */
  async waitFor<T>(load: Promise<T>): Promise<T> {
    const restMs = Math.max(0, this.endsAt - this.clock.now());
    let timer: ReturnType<Clock['after']> | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = this.clock.after(restMs, () => reject(new OutOfPatience(`after ${restMs} ms`)));
    });
    try {
      return await Promise.race([load, timeout]);
    } finally {
      timer?.cancel();
    }
  }
}

/** Begins a command, which must call `answered` when the store has answered. */
type Begin = (answered: () => void) => void;

/** Commands on one name. The first `begun` of them have begun. */
interface WaitingCommands {
  readonly commands: Begin[];
  begun: number;
}

/**
 * Lets the commands of a session on one name begin in the order of their ids. The next command begins when the store
 * has answered the command before. Otherwise a release could overtake an earlier acquire, because releases are sent
 * to a busy store first.
 */
export class NameTurns {
  /** The commands that wait, by name. A name without an entry has no unanswered command. */
  private readonly waiting = new Map<string, WaitingCommands>();

  /** Runs `begin` now or later. */
  run(name: string, begin: Begin): void {
    const queue = this.waiting.get(name);
    if (queue !== undefined) {
      queue.commands.push(begin);
      return;
    }
    this.waiting.set(name, { commands: [], begun: 0 });
    this.beginFrom(name, begin);
  }

  /**
   * Begins one command after the other in a loop. With recursion, thousands of commands that are answered together
   * would overflow the stack.
   */
  private beginFrom(name: string, first: Begin | undefined): void {
    for (let begin = first; begin !== undefined; begin = this.take(name)) {
      let isAnswered = false;
      let isInLoop = true;
      begin(() => {
        if (isAnswered) return;
        isAnswered = true;
        if (!isInLoop) this.beginFrom(name, this.take(name));
      });
      isInLoop = false;
      if (!isAnswered) return;
    }
  }

  private take(name: string): Begin | undefined {
    const queue = this.waiting.get(name);
    const next = queue?.commands[queue.begun];
    if (queue === undefined || next === undefined) {
      this.waiting.delete(name);
      return undefined;
    }
    queue.begun += 1;
    // `shift` would move all commands that are left, each time: seconds for 100,000 commands.
    if (queue.begun * 2 > queue.commands.length) {
      queue.commands.splice(0, queue.begun);
      queue.begun = 0;
    }
    return next;
  }
}
