import type { Micros } from '../history';
import type { ManualLoop } from './loop';

/** The time for which a server waits for a reply. Afterwards, the outcome of the command is unknown. */
export const COMMAND_TIMEOUT: Micros = 2_000_000;

/** A connection to the store, which keeps the order of scripts and the order of replies. */
export interface StoreLink {
  toStore(script: () => void): void;
  fromStore(deliver: () => void): void;
  /** Starts a timer of the sending process. */
  after(delay: Micros, work: () => void): void;
}

type OnReply<Reply> = (reply: Reply, sentAt: Micros) => void;

/** Sends scripts. A script without a reply in time fails with an unknown outcome, because the script may still run. */
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

  /** Sends a script that may grant. The script does nothing after its caller has timed out. */
  sendGranting<Reply>(script: () => Reply, onReply: OnReply<Reply>, onFailure?: () => void): void {
    const notAfter = this.loop.now + COMMAND_TIMEOUT;
    const guarded = () => (this.loop.now > notAfter ? null : script());
    this.send(guarded, (reply, sentAt) => reply !== null && onReply(reply, sentAt), onFailure);
  }
}

function noReply(): void {
  // The caller ignores the result.
}
