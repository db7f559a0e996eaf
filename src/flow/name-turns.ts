/** Begins a command, which must call `answered` when the store has answered. */
type Begin = (answered: () => void) => void;

/**
 * Lets the commands of a session on one name begin in the order of their ids. The next command begins when the store
 * has answered the command before. Otherwise a release could overtake an earlier acquire, because releases are sent
 * to a busy store first.
 */
export class NameTurns {
  /** The commands that wait, by name. A name without an entry has no unanswered command. */
  private readonly waiting = new Map<string, Begin[]>();

  /** Runs `begin` now or later. */
  run(name: string, begin: Begin): void {
    const queue = this.waiting.get(name);
    if (queue !== undefined) {
      queue.push(begin);
      return;
    }
    this.waiting.set(name, []);
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
    const next = this.waiting.get(name)?.shift();
    if (next === undefined) this.waiting.delete(name);
    return next;
  }
}
