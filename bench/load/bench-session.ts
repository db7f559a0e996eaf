import { randomUUID } from 'node:crypto';
import { credentials, type ClientDuplexStream } from '@grpc/grpc-js';
import {
  SessionEndCause,
  sessionEndCauseToJSON,
  SessionServiceClient,
  type OpenSessionRequest,
  type OpenSessionResponse,
  type SessionCommand,
  type SessionEvent,
  type SessionStart,
} from '../../generated/typescript/holdfast/v1/session_service';
import { bearer } from '../../test/support/clients/calls';

type Command = NonNullable<SessionCommand['command']>;
type Event = NonNullable<SessionEvent['event']>;

const HEARTBEAT_MS = 5000;
const RELEASED = SessionEndCause.SESSION_END_CAUSE_RELEASED;

/** One session that sends the commands of one turn of the event loop in one message, as a client library does. */
export class BenchSession {
  renewed = 0;
  /** The leases that ended without a release. */
  /** The causes of lost leases. */
  readonly lost: string[] = [];
  private readonly client: SessionServiceClient;
  private readonly call: ClientDuplexStream<OpenSessionRequest, OpenSessionResponse>;
  private readonly answers = new Map<number, (event: Event) => void>();
  private readonly heartbeats: NodeJS.Timeout;
  private unsent: SessionCommand[] = [];
  private commandId = 0;
  private heartbeatId = 0;

  constructor(address: string, token?: string, place: Partial<SessionStart> = {}) {
    this.client = new SessionServiceClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      ...bearer(token),
    });
    this.call = this.client.openSession();
    this.call.on('data', (response: OpenSessionResponse) => this.receive(response));
    this.call.on('error', (error) => {
      throw error;
    });
    const start = { clientId: randomUUID(), sessionNumber: 1n, holderId: '', metadata: new Map(), ...place };
    this.write({ start, heartbeatId: this.nextHeartbeat(), commands: [] });
    this.heartbeats = setInterval(
      () => this.write({ start: undefined, heartbeatId: this.nextHeartbeat(), commands: [] }),
      HEARTBEAT_MS,
    );
  }

  /** Resolves to the number of the command and its first event other than `queued`. */
  run(command: Command): Promise<{ readonly number: number; readonly event: Event }> {
    const number = ++this.commandId;
    if (this.unsent.length === 0) setImmediate(() => this.sendCommands());
    this.unsent.push({ commandId: BigInt(number), command });
    return new Promise((resolve) => this.answers.set(number, (event) => resolve({ number, event })));
  }

  /** Resolves when the connection has broken, instead of ending the process. */
  broken(): Promise<void> {
    this.call.removeAllListeners('error');
    return new Promise((resolve) => this.call.on('error', () => resolve()));
  }

  close(): void {
    clearInterval(this.heartbeats);
    void this.broken();
    this.call.cancel();
    this.client.close();
  }

  private sendCommands(): void {
    const commands = this.unsent;
    this.unsent = [];
    this.write({ start: undefined, heartbeatId: 0n, commands });
  }

  private write(message: OpenSessionRequest): void {
    this.call.write(message);
  }

  private nextHeartbeat(): bigint {
    this.heartbeatId += 1;
    return BigInt(this.heartbeatId);
  }

  private receive({ events, renewals }: OpenSessionResponse): void {
    this.renewed += renewals.length;
    for (const { commandId, event } of events) {
      if (event === undefined || event.$case === 'queued') continue;
      const number = Number(commandId);
      const answer = this.answers.get(number);
      this.answers.delete(number);
      if (answer) answer(event);
      else if (event.$case === 'ended' && event.value.cause !== RELEASED) {
        this.lost.push(sessionEndCauseToJSON(event.value.cause).replace('SESSION_END_CAUSE_', ''));
      }
    }
  }
}
