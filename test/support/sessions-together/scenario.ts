import { release } from '../clients/session-stream';
import { FakeCall } from '../fake-call';
import { ManualClock, settled } from '../manual-clock';
import { type CommandOutcome, ModelWorld } from '../leases/model-store';
import { actInSession, type Action, cancelAcquire, PlainCalls } from './actions';
import { Beliefs, type CommandRecord, Requests, RESOURCES } from './beliefs';
import { ClientProcess, type ScenarioParts } from './client-process';
import type { SessionClient } from './session-client';
import { SessionServer, StoreWitness } from './session-server';

/** The longest time from the last end of a lease to the event: a slot of the timers, and the journey of a command. */
const LATE_MS = 50;

/** Checks the leases of the sessions that read and are read. */
function checkOpenLeases(sessions: readonly SessionClient[], { world, violations }: ScenarioParts): void {
  const owners = new Map<string, CommandRecord>();
  for (const session of sessions.filter(({ isFlowing }) => isFlowing)) {
    for (const command of session.held) {
      const { belief, request } = command;
      if (belief && belief.until + LATE_MS < world.clock.now()) {
        command.report('was not told of the end of its lease');
      }
      const key = `${session.server.id} ${request?.fields.requestId}`;
      const other = owners.get(key);
      if (other) {
        violations.push(
          `sessions ${other.session.name} and ${session.name} of ${session.server.id} both hold ${request?.fields.requestId}`,
        );
      }
      owners.set(key, command);
    }
  }
}

const SERVERS = ['s1', 's2', 's3'];
const PROCESSES = [
  ['a', '0190a0a0-0000-7000-8000-00000000000a'],
  ['b', '0190a0a0-0000-7000-8000-00000000000b'],
] as const;
/** A message passes the turns of the commands, the store and the outbox. */
const TURNS = 8;
/** The work of late timers needs two slots of the timers. */
const AFTER_JUMP_MS = 20;

export interface Conditions {
  readonly latencyMs: number;
  /** True if hints to other servers arrive. */
  readonly hints: boolean;
  /** Undefined: every command is answered. */
  readonly outcome: (() => CommandOutcome) | undefined;
  /** The time of the next reply on its way (ms). Undefined: the replies come in the order of their commands. */
  readonly replyMs: (() => number) | undefined;
  /** The rates of the clocks of the servers, the client processes and the other clients. */
  readonly rates: readonly number[];
}

/** Sessions of two client processes, unary calls and hold streams use three servers over a model of the store. */
export class Scenario {
  private readonly clock = new ManualClock(1_000_000);
  private readonly world = new ModelWorld(this.clock);
  private readonly violations: string[] = [];
  private readonly parts: ScenarioParts;
  private readonly servers: readonly SessionServer[];
  private readonly processes: readonly ClientProcess[];
  private readonly plain: PlainCalls;

  constructor({ latencyMs, hints, outcome, replyMs, rates }: Conditions) {
    const { world, violations } = this;
    Object.assign(world, { latencyMs, hints });
    if (outcome) world.outcomeOf = outcome;
    if (replyMs) world.replyMsOf = replyMs;
    const beliefs = new Beliefs(world, violations);
    const requests = new Requests();
    this.parts = { world, requests, beliefs, violations, isLossy: outcome !== undefined };
    const rateOf = (index: number): number => rates[index % rates.length] ?? 1;
    this.servers = SERVERS.map((id, index) => new SessionServer(world, id, rateOf(index), 1000 * index));
    this.processes = PROCESSES.map(
      ([name, id], index) => new ClientProcess(name, id, rateOf(SERVERS.length + index), this.parts),
    );
    this.plain = new PlainCalls(this.parts, rateOf(SERVERS.length + PROCESSES.length));
    new StoreWitness(this.parts, this.processes);
    this.processes.forEach((process, index) => process.openNext(this.server(index), 'open'));
  }

  async take(action: Action): Promise<void> {
    await this.act(action);
    await this.settle();
    this.check();
  }

  /** Ends everything. Expects that each command was answered, and that nothing is left. */
  async expectRest(releases: boolean): Promise<void> {
    Object.assign(this.world, {
      outcomeOf: () => 'answered',
      replyMsOf: () => undefined,
      latencyMs: 0,
    });
    for (const session of this.openSessions()) {
      session.isSilent = false;
      session.read();
      session.flow();
      for (const command of session.commands.values()) {
        if (command.kind === 'acquire' && !command.isAnswered) cancelAcquire(session, command);
      }
    }
    await this.pass(10_000);
    this.expectAnswers();
    this.plain.cancelAll();
    if (releases) await this.releaseAll();
    this.openSessions().forEach((session, index) =>
      index % 2 === 0 ? session.break() : session.halfClose(),
    );
    await this.pass(20_000);
    for (const { engine } of this.servers) await this.touch(engine.store);
    for (const server of this.servers) server.expectRest();
    // All leases expire in the first step. The next steps remove the waiters and the kept places.
    for (const ms of [100_000, ...Array<number>(8).fill(2500)]) {
      await this.clock.advance(ms);
      await this.touch(this.server(0).engine.store);
    }
    await this.settle();
    this.check();
    expect(RESOURCES.map((resource) => this.world.model(resource).requests.length)).toEqual([0, 0, 0]);
    expect(this.clock.timerCount).toBe(0);
  }

  private act(action: Action): Promise<void> | void {
    const { requests } = this.parts;
    if ('who' in action) {
      const process = this.processes[action.who] as ClientProcess;
      return actInSession(process, action, (index) => this.server(index));
    }
    const lease = 'pick' in action ? requests.lease(action.pick) : undefined;
    switch (action.kind) {
      case 'plain-acquire':
        return this.plain.acquire(this.server(action.on), requests.choose(action));
      case 'hold':
        return this.plain.hold(this.server(action.on), requests.choose(action));
      case 'hold-attach':
        return lease && this.plain.attach(this.server(action.on), lease);
      case 'plain-renew':
        return lease && this.plain.renew(this.server(action.on), lease);
      case 'plain-release':
        return lease && this.plain.release(this.server(action.on), lease);
      case 'plain-cancel':
        return this.plain.cancel(action.pick);
      case 'revoke':
        return this.revoke(action.on, action.resource);
      case 'pass':
        return this.clock.advance(action.ms);
      case 'jump':
        return this.clock.jump(action.ms).then(() => this.clock.advance(AFTER_JUMP_MS));
    }
  }

  /** Revokes all leases of a name. Their holders may end their work in time. */
  private revoke(on: number, resource: number): void {
    const { service, name } = RESOURCES[resource] as (typeof RESOURCES)[number];
    const { permits } = this.server(on).engine;
    const request = { name, target: { kind: 'all-holders' }, force: false } as const;
    permits.revoke(new FakeCall(this.clock), service, request).catch(() => undefined);
  }

  private check(): void {
    this.plain.read();
    this.parts.beliefs.check();
    checkOpenLeases(this.openSessions(), this.parts);
    expect(this.violations).toEqual([]);
  }

  private expectAnswers(): void {
    this.check();
    for (const { commands } of this.openSessions()) {
      for (const command of commands.values()) if (!command.isAnswered) command.report('has no end');
    }
    expect(this.violations).toEqual([]);
  }

  /** Releases all leases in the sessions that hold them. Expects that the sessions keep nothing. */
  private async releaseAll(): Promise<void> {
    for (const session of this.openSessions()) {
      for (const { id, lease, request } of session.held) {
        if (lease) this.parts.beliefs.letGo(lease);
        session.send('release', release(id), request);
      }
    }
    await this.pass(1000);
    this.expectAnswers();
    expect(this.openSessions().flatMap(({ held }) => held.map(({ id }) => id))).toEqual([]);
    expect(this.servers.flatMap((server) => server.kept())).toEqual([]);
  }

  private async touch(store: SessionServer['engine']['store']): Promise<void> {
    for (const resource of RESOURCES) await store.touch(resource, []);
    await this.settle();
  }

  private async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.settle();
    this.check();
  }

  private async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await settled();
    await this.clock.advance(0);
  }

  private openSessions(): SessionClient[] {
    return this.processes.flatMap(({ sessions }) => sessions.filter(({ isOver }) => !isOver));
  }

  private server(index: number): SessionServer {
    return this.servers[index] as SessionServer;
  }
}
