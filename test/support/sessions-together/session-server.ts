import type { Clock } from '../../../src/base/clock';
import { defaultLimits } from '../../../src/leases/lease';
import type { Session } from '../../../src/leases/sessions/session';
import { defaultSessionLimits } from '../../../src/leases/sessions/session-requests';
import { Sessions } from '../../../src/leases/sessions/sessions';
import { FailureCounts } from '../../../src/rpc/entry/call-meters';
import { CommandTurns } from '../../../src/flow/turns';
import { SessionCommands } from '../../../src/leases/service/session-commands';
import {
  type ConversationParts,
  SessionConversation,
} from '../../../src/leases/service/session-conversation';
import { EngineFixture } from '../engine-fixture';
import { FakeCall } from '../fake-call';
import type { FakeSessionStream } from '../fake-session-stream';
import type { ModelStore, ModelWorld } from '../model-store';
import { NO_LOG } from '../no-log';
import { RatedClock } from '../rated-clock';
import { sessionCall } from '../session-call';

/** Longer than the short ttl, and shorter than the long ttl. */
export const HEARTBEAT_TIMEOUT_MS = 4000;
const HEARTBEAT_INTERVAL_MS = 1000;

/** One server: its engine of leases, and its sessions with their messages. */
export class SessionServer {
  readonly clock: RatedClock;
  readonly engine: EngineFixture<ModelStore, Clock>;
  private readonly sessions: Sessions;
  private readonly opened: Session[] = [];
  private readonly turns: CommandTurns;
  private readonly commands = new SessionCommands({ log: NO_LOG } as never, defaultLimits);

  constructor(
    world: ModelWorld,
    readonly id: string,
    rate: number,
    startedAt: number,
  ) {
    this.clock = new RatedClock(world.clock, rate, startedAt);
    this.turns = new CommandTurns(this.clock);
    this.engine = new EngineFixture<ModelStore, Clock>(this.clock, world.store(id, this.clock), {}, id);
    this.sessions = new Sessions({
      engine: this.engine.permits,
      clock: this.clock,
      limits: {
        ...defaultSessionLimits,
        heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS,
        heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
      },
      random: () => 0.5,
    });
    const begin = this.sessions.begin.bind(this.sessions);
    this.sessions.begin = (...args) => {
      const session = begin(...args);
      this.opened.push(session);
      return session;
    };
  }

  /** The attach value of the latest hold stream, which has just begun. */
  get lastAttach(): string {
    const { context } = this.engine.permits as unknown as {
      readonly context: { readonly attachCount: number };
    };
    return `${this.id}.${context.attachCount}s`;
  }

  call(): FakeCall {
    return new FakeCall(this.clock);
  }

  /** Serves a session. Resolves or rejects at the end of the stream. */
  serve(stream: FakeSessionStream, call: FakeCall): Promise<void> {
    const parts = {
      stream,
      call: sessionCall(call),
      context: { clock: this.clock, log: NO_LOG },
      sessions: this.sessions,
      commands: this.commands,
      turns: this.turns,
      failures: new FailureCounts(),
    };
    return new SessionConversation(parts as unknown as ConversationParts).run();
  }

  /** What the sessions still keep, apart from revoked leases of open sessions. Empty after the end of all leases. */
  kept(): string[] {
    return this.opened.flatMap((session) => {
      const { commands, turns, unfinishedCount, releaseCount } = session as unknown as SessionState;
      const counts = { commands: commands.size, turns: turns.waiting.size, unfinishedCount, releaseCount };
      return Object.entries(counts)
        .filter(([, count]) => count !== 0)
        .map(([what, count]) => `session ${session.speaker} has ${what}: ${count}`);
    });
  }

  expectRest(): void {
    expect(this.kept()).toEqual([]);
    expect(this.sessions.size).toBe(0);
    this.engine.expectRest();
  }
}

/** The private state of a session. */
interface SessionState {
  readonly commands: ReadonlyMap<number, unknown>;
  readonly turns: { readonly waiting: ReadonlyMap<string, unknown> };
  readonly unfinishedCount: number;
  readonly releaseCount: number;
}
