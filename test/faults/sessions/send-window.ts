import type { LeaseCommand } from './lease-command';

/** The most commands that have no answer yet. */
const WINDOW = 200;

/** Sends commands in order, and not all at once. A queued request counts as answered. */
export class SendWindow {
  private waiting: (() => LeaseCommand | undefined)[] = [];
  private readonly open = new Set<LeaseCommand>();

  /** @param send sends the command, or nothing if the command is no longer wanted */
  add(send: () => LeaseCommand | undefined): void {
    this.waiting.push(send);
    this.pump();
  }

  /** A new session: what was not sent yet is asked for anew. */
  clear(): void {
    this.waiting = [];
    this.open.clear();
  }

  answered(command: LeaseCommand): void {
    if (this.open.delete(command)) this.pump();
  }

  private pump(): void {
    while (this.open.size < WINDOW) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      const sent = next();
      if (sent !== undefined) this.open.add(sent);
    }
  }
}
