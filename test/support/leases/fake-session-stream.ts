import { EventEmitter } from 'node:events';
import {
  OpenSessionRequest,
  type OpenSessionResponse,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { EVERY_RIGHT } from '../../../src/access/authorization';
import { readSessionRequest, type SessionRequest } from '../../../src/leases/service/session-request';
import { toErrorSummary } from '../../../src/rpc/call-errors';
import { type FakeCall, NO_LOG } from '../fake-call';

/** The parts of an error in the message of a stream. Nothing is logged. */
export const summaryOf = (error: unknown) => toErrorSummary(error, 'OpenSession', NO_LOG, () => ({}));

/** The call of an OpenSession stream, without quotas. */
export const sessionCall = (call: FakeCall) =>
  Object.assign(call, {
    takeCommand: () => undefined,
    countCommand: () => undefined,
    rightsFor: () => EVERY_RIGHT,
    summaryOf,
  });

/** The server's side of an OpenSession stream. The test is the client. */
export class FakeSessionStream extends EventEmitter {
  readonly sent: OpenSessionResponse[] = [];
  /** False: the client does not read. */
  reads = true;
  private readonly unread: SessionRequest[] = [];
  private paused = false;

  write(message: OpenSessionResponse): boolean {
    this.sent.push(message);
    return this.reads;
  }

  pause(): this {
    this.paused = true;
    return this;
  }

  resume(): this {
    this.paused = false;
    for (let next = this.unread.shift(); next !== undefined; next = this.unread.shift()) {
      this.emit('data', next);
      if (this.isPaused()) break;
    }
    return this;
  }

  isPaused(): boolean {
    return this.paused;
  }

  /** The client sends a message. The server gets the message when the server reads. */
  deliver(message: Partial<OpenSessionRequest>): void {
    const bytes = OpenSessionRequest.encode({ ...OpenSessionRequest.create(), ...message }).finish();
    this.deliverBytes(Buffer.from(bytes));
  }

  deliverBytes(bytes: Buffer): void {
    this.unread.push(readSessionRequest(bytes));
    if (!this.paused) this.resume();
  }

  /** The client reads all that was sent, and goes on reading. */
  read(): void {
    this.reads = true;
    this.emit('drain');
  }
}
