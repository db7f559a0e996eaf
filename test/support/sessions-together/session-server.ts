import type { Clock } from '../../../src/base/clock';
import { CommandTurns } from '../../../src/flow/turns';
import { defaultLimits, type Resource, resourceKey } from '../../../src/leases/lease';
import { lockService, semaphoreService } from '../../../src/leases/service/lease-services';
import { SessionCommands } from '../../../src/leases/service/session-commands';
import {
  type ConversationParts,
  SessionConversation,
} from '../../../src/leases/service/session-conversation';
import type { Session } from '../../../src/leases/sessions/session';
import { defaultSessionLimits } from '../../../src/leases/sessions/session-requests';
import { Sessions } from '../../../src/leases/sessions/sessions';
import { FailureCounts } from '../../../src/rpc/entry/call-meters';
import { FakeCall } from '../fake-call';
import type { LeaseModel } from '../leases/lease-model';
import { speakerOf } from '../leases/lease-model-resource';
import { EngineFixture } from '../leases/engine-fixture';
import { type FakeSessionStream, sessionCall } from '../leases/fake-session-stream';
import { RatedClock, runtimeOn } from '../manual-clock';
import type { ModelStore, ModelWorld, SentCommand } from '../leases/model-store';
import type { CommandRecord } from './beliefs';
import type { ClientProcess, ScenarioParts } from './client-process';

/** Longer than the short ttl, and shorter than the long ttl. */
const HEARTBEAT_TIMEOUT_MS = 4000;
const HEARTBEAT_INTERVAL_MS = 1000;

/** One server: its engine of leases, and its sessions with their messages. */
export class SessionServer {
  readonly clock: RatedClock;
  readonly engine: EngineFixture<ModelStore, Clock>;
  private readonly sessions: Sessions;
  private readonly opened: Session[] = [];
  private readonly turns: CommandTurns;
  private readonly commands: SessionCommands;

  constructor(
    world: ModelWorld,
    readonly id: string,
    rate: number,
    startedAt: number,
  ) {
    this.clock = new RatedClock(world.clock, rate, startedAt);
    this.turns = new CommandTurns(this.clock);
    this.engine = new EngineFixture<ModelStore, Clock>(this.clock, world.store(id, this.clock), {}, id);
    const { permits } = this.engine;
    this.commands = new SessionCommands(
      defaultLimits,
      lockService(permits, defaultLimits),
      semaphoreService(permits, defaultLimits),
    );
    this.sessions = new Sessions({
      runtime: runtimeOn(this.clock),
      engine: permits,
      limits: {
        ...defaultSessionLimits,
        heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS,
        heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
      },
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
      readonly context: { readonly lives: { readonly attachCount: number } };
    };
    return `${this.id}.${context.lives.attachCount}s`;
  }

  call(): FakeCall {
    return new FakeCall(this.clock);
  }

  /** Serves a session. Resolves or rejects at the end of the stream. */
  serve(stream: FakeSessionStream, call: FakeCall): Promise<void> {
    const parts = {
      stream,
      call: sessionCall(call),
      clock: this.clock,
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

/** The clocks count fractions. */
const ROUNDING_MS = 0.001;

/** Sees each command at the store, and each renewal before its journey. */
export class StoreWitness {
  /** The greatest token, and all tokens, by resource. */
  private readonly lastTokens = new Map<string, number>();
  private readonly tokens = new Map<string, Set<number>>();
  /** When a server has sent a release of a lease (ms, world's clock), by server and request. */
  private readonly releases = new Map<string, number>();

  constructor(
    private readonly parts: ScenarioParts,
    private readonly processes: readonly ClientProcess[],
  ) {
    parts.world.onRun = (resource, model) => {
      this.checkGrants(resource, model);
      parts.beliefs.check();
    };
    parts.world.onSend = (command) => this.sent(command);
  }

  private get world(): ModelWorld {
    return this.parts.world;
  }

  /** Expects that tokens rise, and that no more permits are taken than there are. */
  private checkGrants({ service, name }: Resource, model: LeaseModel): void {
    const { limit = 0, used } = model;
    if (used > limit) this.report(`${used} permits of ${name} are taken, and there are ${limit}`);
    const key = resourceKey({ service, name });
    const last = this.lastTokens.get(key) ?? 0;
    const known = this.tokens.get(key) ?? new Set<number>();
    this.tokens.set(key, known);
    const fresh = model.holders().filter(({ token }) => !known.has(token));
    for (const { token } of fresh) {
      if (token <= last) this.report(`${name} was granted with token ${token} after ${last}`);
      known.add(token);
    }
    this.lastTokens.set(key, Math.max(last, ...fresh.map(({ token }) => token)));
  }

  private sent(command: SentCommand): void {
    const { verb, server, requestId, attach } = command;
    const key = `${server} ${requestId}`;
    if (verb === 'release' && attach === undefined) this.releases.set(key, this.world.clock.now());
    if (verb !== 'renew' || attach === undefined) return;
    const record = this.recordOf(attach);
    if (record === undefined) return;
    if (record.session.isOver) record.report('was renewed after the end of its session');
    // A client that does not read learns of its grant late. The grant is a sign of life too.
    if (record.end !== 'granted') return;
    this.expectSignOfLife(record, command);
    if (record.grantedTime < (this.releases.get(key) ?? -Infinity)) {
      record.report('was renewed after a release was asked for');
    }
  }

  /** Expects that the client of a renewed lease was heard recently. */
  private expectSignOfLife(record: CommandRecord, { server, resource, requestId }: SentCommand): void {
    const { session } = record;
    const request = this.world.model(resource).requests.find(({ id }) => id === requestId);
    if (request === undefined) return;
    if (session.server.id !== server) record.report(`was renewed by ${server}`);
    const silentMs = this.world.clock.now() - Math.max(session.lastBeatAt, record.grantedTime);
    const allowedMs = Math.min(HEARTBEAT_TIMEOUT_MS, request.ttl / 1000);
    if (silentMs * session.server.clock.rate >= allowedMs + ROUNDING_MS) {
      record.report(
        `was renewed after ${silentMs} ms without a heartbeat, and its ttl is ${request.ttl / 1000} ms`,
      );
    }
  }

  /** The command that speaks for a lease. Undefined: a hold stream does. */
  private recordOf(attach: string): CommandRecord | undefined {
    const speaker = speakerOf(attach);
    if (speaker === undefined) return undefined;
    const process = this.processes.find(({ shortId }) => shortId === speaker.client);
    const record = process?.sessions[speaker.session - 1]?.commands.get(speaker.command);
    if (record === undefined) this.report(`a lease was renewed for the unknown speaker of ${attach}`);
    return record;
  }

  private report(what: string): void {
    this.parts.violations.push(what);
  }
}
