import { randomUUID } from 'node:crypto';
import type {
  OpenSessionRequest,
  SessionCommand,
  SessionEvent,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { defaultLimits } from '../../../src/leases/lease';
import { HoldfastError } from '../../../src/base/errors';
import { defaultSessionLimits, type SessionLimits } from '../../../src/leases/sessions/session-requests';
import { Sessions } from '../../../src/leases/sessions/sessions';
import { FailureCounts } from '../../../src/rpc/entry/call-meters';
import { CommandTurns } from '../../../src/flow/turns';
import { lockService, semaphoreService } from '../../../src/leases/service/lease-services';
import { SessionCommands } from '../../../src/leases/service/session-commands';
import {
  type ConversationParts,
  SessionConversation,
} from '../../../src/leases/service/session-conversation';
import { lock } from '../../support/clients/session-stream';
import { FakeCall } from '../../support/fake-call';
import { ManualClock, settled, runtimeOn } from '../../support/manual-clock';
import { fakePermits } from '../fake-engines';
import { FakeSessionLeases, type Taken } from './fake-session-leases';
import { FakeSessionStream, sessionCall } from '../../support/leases/fake-session-stream';

type Command = NonNullable<SessionCommand['command']>;

/** A thousand commands begin and are answered in fewer turns of the event loop. */
const MANY_TURNS = 100;

/** One OpenSession stream on a manual clock, with an engine of leases that the test answers. */
export class ConversationFixture {
  readonly clock = new ManualClock(1_000_000);
  readonly engine = new FakeSessionLeases();
  readonly stream = new FakeSessionStream();
  readonly sessions: Sessions;
  /** The failed commands by reason. */
  readonly failures = new FailureCounts();
  /** The leases that `hold` has got, in order. */
  readonly held: Taken[] = [];
  /** 'OK', or the reason of the status. Undefined while the stream is open. */
  status: string | undefined;
  private readonly call: FakeCall;
  private commandId = 0;
  private heartbeatId = 0;

  constructor(limits: Partial<SessionLimits> = {}) {
    const { clock, engine, stream } = this;
    this.call = new FakeCall(clock);
    this.sessions = new Sessions({
      runtime: runtimeOn(clock),
      engine,
      limits: { ...defaultSessionLimits, ...limits },
    });
    const { engine: leases } = fakePermits();
    const parts = {
      stream,
      call: sessionCall(this.call),
      clock,
      sessions: this.sessions,
      commands: new SessionCommands(
        defaultLimits,
        lockService(leases, defaultLimits),
        semaphoreService(leases, defaultLimits),
      ),
      turns: new CommandTurns(clock),
      failures: this.failures,
    };
    new SessionConversation(parts as unknown as ConversationParts).run().then(
      () => (this.status = 'OK'),
      (error: unknown) => (this.status = error instanceof HoldfastError ? error.reason : 'DEFECT'),
    );
  }

  /** Sends the first message. */
  async start(fields: Partial<OpenSessionRequest> = {}): Promise<void> {
    this.heartbeatId = 1;
    const start = {
      clientId: randomUUID(),
      sessionNumber: 1n,
      holderId: '',
      metadata: new Map<string, string>(),
    };
    this.stream.deliver({ start, heartbeatId: 1n, ...fields });
    await this.turns();
  }

  /** Sends the next heartbeat. Returns the id of the heartbeat. */
  async heartbeat(): Promise<number> {
    this.heartbeatId += 1;
    this.stream.deliver({ heartbeatId: BigInt(this.heartbeatId) });
    await this.turns();
    return this.heartbeatId;
  }

  /** Sends commands in one message. Returns the id of the first command. */
  send(...commands: (Command | undefined)[]): number {
    const first = this.commandId + 1;
    this.commandId += commands.length;
    this.stream.deliver({
      commands: commands.map((command, index) => ({ commandId: BigInt(first + index), command })),
    });
    return first;
  }

  async run(...commands: (Command | undefined)[]): Promise<number> {
    const first = this.send(...commands);
    await this.turns();
    return first;
  }

  /** Acquires locks of different names, and grants them. Returns the number of the first lease. */
  async hold(count = 1): Promise<number> {
    const first = this.commandId + 1;
    await this.run(...Array.from({ length: count }, (_, index) => lock(`held ${first + index}`)));
    const end = { sentAt: this.clock.now(), remainingMs: 30_000 };
    const taken = this.engine.takes.splice(0);
    for (const { grant } of taken) await grant(end);
    this.held.push(...taken);
    await this.turns();
    return first;
  }

  get events(): SessionEvent[] {
    return this.stream.sent.flatMap(({ events }) => events);
  }

  /** The kinds of all events about a command and its lease, with the reason of an error. */
  kinds(commandId: number): string[] {
    return this.events
      .filter((event) => event.commandId === BigInt(commandId))
      .map(({ event }) => (event?.$case === 'failed' ? event.value.reasonText : String(event?.$case)));
  }

  /** Lets the turns of the event loop pass in which commands begin and messages leave. */
  async turns(count = MANY_TURNS): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await settled();
  }

  /** The client is gone. */
  async close(): Promise<void> {
    this.call.cancel();
    await this.turns();
  }
}
