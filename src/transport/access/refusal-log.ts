import type { Clock } from '../../engine/clock';
import type { Log } from '../grpc/log';

/** The most lines of one second. */
const LINES_PER_SECOND = 5;

/** Logs refused calls. A flood of refusals costs few lines, and each line has the number of refusals without a line. */
export class RefusalLog {
  private secondEndsAt = -Infinity;
  private lineCount = 0;
  private suppressed = 0;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  write(fields: () => object): void {
    const now = this.clock.now();
    if (now >= this.secondEndsAt) {
      this.secondEndsAt = now + 1000;
      this.lineCount = 0;
    }
    if (this.lineCount >= LINES_PER_SECOND) {
      this.suppressed += 1;
      return;
    }
    this.lineCount += 1;
    const { suppressed } = this;
    this.suppressed = 0;
    this.log.warn({ ...fields(), ...(suppressed > 0 && { suppressed }) }, 'refused a credential');
  }
}
