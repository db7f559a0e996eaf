/**
 * Lets the commands of a session on one name begin in the order of their ids. The next command begins when the store has
 * answered the command before, because the window of commands to a busy store sends a release before an acquire.
 */
export class NameTurns {
  /** The commands that wait, by name. A name without an entry has no unanswered command. */
  private readonly waiting = new Map<string, (() => void)[]>();

  /** Runs `begin` now or later. Its command must call the passed function once, when the store has answered. */
  run(name: string, begin: (answered: () => void) => void): void {
    const queue = this.waiting.get(name);
    if (queue !== undefined) {
      queue.push(() => this.begin(name, begin));
      return;
    }
    this.waiting.set(name, []);
    this.begin(name, begin);
  }

  private begin(name: string, begin: (answered: () => void) => void): void {
    let isAnswered = false;
    begin(() => {
      if (isAnswered) return;
      isAnswered = true;
      this.next(name);
    });
  }

  private next(name: string): void {
    const next = this.waiting.get(name)?.shift();
    if (next === undefined) this.waiting.delete(name);
    else next();
  }
}
