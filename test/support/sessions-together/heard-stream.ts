import type { OpenSessionResponse } from '../../../generated/typescript/holdfast/v1/session_service';
import { FakeSessionStream } from '../fake-session-stream';

/** A stream of a client that acts on each message at once. */
export class HeardStream extends FakeSessionStream {
  constructor(private readonly hear: (message: OpenSessionResponse) => void) {
    super();
  }

  override write(message: OpenSessionResponse): boolean {
    this.hear(message);
    return this.reads;
  }
}
