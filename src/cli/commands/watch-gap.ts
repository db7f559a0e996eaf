import { problemText } from '../output/problem-text';
import type { Terminal } from '../terminal';

/** The first attempt after a break often succeeds, at another server. */
const QUIET_FAILURES = 1;

/** Says once that a watch gets no states, and once that states arrive again. */
export class WatchGap {
  private failures = 0;

  /** @param subject the watched name in a sentence, such as `lock "a"` */
  constructor(
    private readonly terminal: Pick<Terminal, 'err'>,
    private readonly subject: string,
  ) {}

  failed(error: Error): void {
    this.failures += 1;
    if (this.failures !== QUIET_FAILURES + 1) return;
    this.write(
      `${this.subject} may have changed unseen, because the watch is interrupted: ${problemText(error)}`,
    );
  }

  /** A state has arrived. */
  ended(): void {
    if (this.failures > QUIET_FAILURES) this.write(`the states of ${this.subject} arrive again`);
    this.failures = 0;
  }

  private write(text: string): void {
    this.terminal.err.write(`holdfast: ${text}\n`);
  }
}
