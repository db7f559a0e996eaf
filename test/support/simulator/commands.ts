import type { Micros } from '../history';
import type { ManualLoop } from './loop';

/** The longest that a server waits for a reply; then it knows nothing about the command. */
export const COMMAND_TIMEOUT: Micros = 2_000_000;

/** One connection to the store: scripts go one way and replies the other, each in their order. */
export interface StoreLink {
  toStore(script: () => void): void;
  fromStore(deliver: () => void): void;
  /** A timer of the process that sends. */
  after(delay: Micros, work: () => void): void;
}

type OnReply<Reply> = (reply: Reply, sentAt: Micros) => void;

/** Sends scripts. No reply in time is a failure that says nothing: the script may still run. */
export class StoreCommands {
  constructor(
    private readonly loop: ManualLoop,
    private readonly link: StoreLink,
  ) {}

  send<Reply>(
    script: () => Reply,
    onReply: OnReply<Reply> = noReply,
    onFailure: () => void = noReply,
    timeout: Micros = COMMAND_TIMEOUT,
  ): void {
    const sentAt = this.loop.now;
    let settled = false;
    const settle = (then: () => void) => {
      if (settled) return;
      settled = true;
      then();
    };
    this.link.toStore(() => {
      const reply = script();
      this.link.fromStore(() => settle(() => onReply(reply, sentAt)));
    });
    this.link.after(timeout, () => settle(onFailure));
  }

  /** A script that may grant does nothing when its caller has given it up already. */
  sendGranting<Reply>(script: () => Reply, onReply: OnReply<Reply>, onFailure?: () => void): void {
    const notAfter = this.loop.now + COMMAND_TIMEOUT;
    const guarded = () => (this.loop.now > notAfter ? null : script());
    this.send(guarded, (reply, sentAt) => reply !== null && onReply(reply, sentAt), onFailure);
  }
}

function noReply(): void {
  // Nobody waits for this one.
}
