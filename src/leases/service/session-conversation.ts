import type { ServerDuplexStream } from '@grpc/grpc-js';
import {
  OpenSessionResponse,
  SessionServiceService,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { Clock, Timer } from '../../base/clock';
import { HoldfastError } from '../../base/errors';
import { CommandTurns } from '../../flow/turns';
import { undecodableRequest } from '../../rpc/decoding';
import type { FailureCounts } from '../../rpc/entry/call-meters';
import { resetUnread } from '../../rpc/entry/grpc-js';
import { Violations } from '../../rpc/fields';
import type { HandledCall, OfferedService, Rows } from '../../rpc/service';
import { serializer } from '../../rpc/wire';
import { sessionSilent, tooManyCommands, tooManyRefusals } from '../lease-errors';
import type { Session } from '../sessions/session';
import { defaultSessionLimits } from '../sessions/session-requests';
import type { Sessions } from '../sessions/sessions';
import { type CommandDefaults, readRisingId, readStart, type SessionCommands } from './session-commands';
import { SessionOutbox } from './session-outbox';
import { type EncodedCommand, readSessionRequest, type SessionRequest } from './session-request';

export interface ConversationParts {
  readonly stream: ServerDuplexStream<SessionRequest, OpenSessionResponse>;
  readonly call: HandledCall;
  readonly clock: Clock;
  readonly sessions: Sessions;
  readonly commands: SessionCommands;
  readonly turns: CommandTurns;
  /** Counts the failed commands of all sessions. */
  readonly failures: FailureCounts;
}

/**
 * The stream is not read while the commands that have not begun and the waiting events together reach this number.
 */
const MOST_BEFORE_PAUSE = 1000;
/** The same for the bytes of requests with commands that have not begun. */
const MOST_BYTES_BEFORE_PAUSE = 2 ** 20;
/**
 * The messages of a session that are read in one turn of the event loop. 64 KiB can have 5,000 heartbeats, and
 * reading them in one turn took 60 ms.
 */
const MOST_MESSAGES_PER_TURN = 16;

/** The session of a stream whose first message has come. */
interface Opened {
  readonly session: Session;
  readonly defaults: CommandDefaults;
}

/** One stream of OpenSession: reads the client's messages, and passes heartbeats and commands to the session. */
export class SessionConversation {
  private readonly outbox: SessionOutbox;
  /** Undefined: no message has come. */
  private opened: Opened | undefined;
  private lastCommandId = 0;
  /** The commands that have arrived and not begun. */
  private arrivedCount = 0;
  /** The bytes of the requests with such commands. */
  private arrivedBytes = 0;
  /** The messages that were read in this turn of the event loop. */
  private readCount = 0;
  /** True: the stream ends, and further messages of the client are ignored. */
  private isOver = false;
  /** True: the client has read nothing for so long that the session ends. */
  private readsNothing = false;
  private stuckTimer: Timer | undefined;
  private settle: (error: Error | undefined) => void = () => undefined;

  constructor(private readonly parts: ConversationParts) {
    const { stream, sessions, call, failures } = parts;
    this.outbox = new SessionOutbox({
      stream,
      limits: sessions.limits,
      summaryOf: (error) => {
        const summary = call.summaryOf(error);
        failures.add(summary.reason);
        return summary;
      },
      onTooManyRefusals: () => this.end(tooManyRefusals()),
      onSent: () => this.readOn(),
    });
  }

  /** Resolves when the client is gone. Rejects with the error that ends the stream. */
  async run(): Promise<void> {
    const { stream, sessions, call } = this.parts;
    const { heartbeatTimeoutMs } = sessions.limits;
    const firstMessage = this.clock.after(heartbeatTimeoutMs, () => {
      if (this.opened === undefined) this.end(sessionSilent(heartbeatTimeoutMs));
    });
    this.watchReader(heartbeatTimeoutMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.settle = (error) => (error === undefined ? resolve() : reject(error));
        call.onCancelled(resolve);
        stream.on('data', (message: SessionRequest) => this.receive(message));
        stream.on('end', () => this.end(undefined));
      });
    } finally {
      this.isOver = true;
      firstMessage.cancel();
      this.stuckTimer?.cancel();
      this.opened?.session.end(undefined);
      if (this.readsNothing) this.outbox.close();
      else this.outbox.finish();
      resetUnread(stream, this.readsNothing ? 0 : heartbeatTimeoutMs);
    }
  }

  private get clock(): Clock {
    return this.parts.clock;
  }

  private end(error: HoldfastError | undefined): void {
    this.isOver = true;
    this.settle(error);
    this.opened?.session.end(error);
  }

  private receive(message: SessionRequest): void {
    if (this.isOver) return;
    const receivedAt = this.clock.now();
    this.countRead();
    try {
      if (this.opened === undefined) this.opened = this.start(message, receivedAt);
      else this.takeHeartbeat(this.opened.session, message, receivedAt);
      this.takeCommands(this.opened, message, receivedAt);
      if (this.mustPause) this.parts.stream.pause();
    } catch (error) {
      if (error instanceof HoldfastError) this.end(error);
      else this.settle(error as Error);
    }
  }

  private start(message: SessionRequest, receivedAt: number): Opened {
    const { sessions, call } = this.parts;
    const { holderId, metadata, ...start } = readStart(message, receivedAt);
    const session = sessions.begin(call, start, this.outbox);
    this.outbox.start(session.heartbeats);
    session.done.then(
      () => this.settle(undefined),
      (error: Error) => this.settle(error),
    );
    return { session, defaults: { holderId, metadata } };
  }

  private takeHeartbeat(session: Session, { start, heartbeatId }: SessionRequest, receivedAt: number): void {
    if (start !== undefined) {
      const violations = new Violations();
      violations.add('start', 'is allowed only in the first message of a session');
      violations.throw();
    }
    if (heartbeatId === 0n) return;
    session.heartbeat(readRisingId('heartbeat_id', heartbeatId, session.heartbeats.id), receivedAt);
    this.outbox.echo();
  }

  private takeCommands(opened: Opened, { commands, byteLength }: SessionRequest, receivedAt: number): void {
    const { turns, sessions } = this.parts;
    const { maxCommandCount } = sessions.limits;
    if (commands.length > maxCommandCount) throw tooManyCommands(maxCommandCount);
    for (const command of commands) {
      this.lastCommandId = readRisingId('command_id', command.commandId, this.lastCommandId);
      const commandId = this.lastCommandId;
      // The commands begin in their order, so the last one is the end of the request.
      const endedBytes = command === commands.at(-1) ? byteLength : 0;
      this.arrivedCount += 1;
      this.arrivedBytes += endedBytes;
      turns.push(this, () => {
        this.arrivedCount -= 1;
        this.arrivedBytes -= endedBytes;
        this.begin(opened, commandId, command, receivedAt);
      });
    }
  }

  private countRead(): void {
    this.readCount += 1;
    if (this.readCount > 1) return;
    setImmediate(() => {
      this.readCount = 0;
      this.readOn();
    });
  }

  private get mustPause(): boolean {
    if (this.readCount >= MOST_MESSAGES_PER_TURN) return true;
    if (this.arrivedBytes >= MOST_BYTES_BEFORE_PAUSE) return true;
    return this.arrivedCount + this.outbox.waitingCount >= MOST_BEFORE_PAUSE;
  }

  private begin(
    { session, defaults }: Opened,
    commandId: number,
    encoded: EncodedCommand,
    receivedAt: number,
  ): void {
    if (session.isOver) return;
    const { commands, call } = this.parts;
    call.countCommand();
    try {
      const message = encoded.decode();
      if (message === undefined) return this.end(undecodableRequest());
      const { command, rights } = commands.check(message, call, defaults, session);
      session.run(commandId, command, rights, receivedAt);
    } catch (error) {
      this.outbox.send({ commandId, kind: 'failed', error });
    }
    this.readOn();
  }

  private readOn(): void {
    const { stream } = this.parts;
    if (stream.isPaused() && !this.mustPause) stream.resume();
  }

  /** Ends the session of a client that reads nothing for `timeoutMs`. */
  private watchReader(timeoutMs: number): void {
    const wasStuck = this.outbox.isStuck;
    const sentCount = this.outbox.sentCount;
    this.stuckTimer = this.clock.after(timeoutMs, () => {
      const { outbox } = this;
      this.readsNothing = wasStuck && outbox.isStuck && outbox.sentCount === sentCount;
      if (this.readsNothing) this.end(sessionSilent(timeoutMs));
      else this.watchReader(timeoutMs);
    });
  }
}

export function sessionService(
  sessions: Sessions,
  commands: SessionCommands,
  clock: Clock,
  failures: FailureCounts,
): OfferedService {
  const turns = new CommandTurns(clock);
  const rows: Rows<typeof SessionServiceService> = {
    openSession: {
      // The commands name resources, and each kind of command has its own verb.
      names: () => undefined,
      load: 'normal',
      bytes: defaultSessionLimits.maxMessageBytes,
      countsItself: true,
      moves: true,
      decode: readSessionRequest,
      answer: serializer(OpenSessionResponse),
      handle: (stream: ConversationParts['stream'], call) =>
        new SessionConversation({ stream, call, clock, sessions, commands, turns, failures }).run(),
    },
  };
  return { definition: SessionServiceService, rows, kind: 'session' };
}
