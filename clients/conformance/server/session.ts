import type {
  OpenSessionRequest,
  SessionCommand,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { Behaviour } from './behaviour';
import { CommandPlace, type PlaceSession } from './command-place';
import { wantedLock, wantedPermits, type Defaults } from './fields';
import type { Records } from './records';
import { renewWhileHeld } from './renewals';
import type { Holding } from './resource';
import type { SessionChecks, SessionHistory } from './session-checks';
import { SessionOutput, type SessionCall } from './session-output';
import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { serviceError, statusSpec, type StatusSpec } from './status-spec';
import type { Store } from './store';
import type { Act } from './takeovers';

type Command = NonNullable<SessionCommand['command']>;

export interface SessionSurroundings {
  readonly server: string;
  readonly store: Store;
  readonly records: Records;
  readonly checks: SessionChecks;
  readonly behaviour: Behaviour;
}

const SNAKE: Readonly<Record<Command['$case'], string>> = {
  acquireLock: 'acquire_lock',
  acquirePermits: 'acquire_permits',
  attach: 'attach',
  release: 'release',
  update: 'update',
  cancel: 'cancel',
};

/** One session of the scripted server. */
export class ScriptedSession implements PlaceSession {
  readonly output: SessionOutput;
  clientId = '';
  number = 0;
  private readonly places = new Map<bigint, CommandPlace>();
  private history: SessionHistory | undefined;
  private defaults: Defaults = { holderId: '', metadata: new Map() };
  private lastHeartbeatAt = performance.now();
  private silence: NodeJS.Timeout | undefined;
  private isOver = false;
  private isClosed = false;

  constructor(
    private readonly call: SessionCall,
    private readonly connection: number,
    private readonly cutConnection: () => void,
    private readonly around: SessionSurroundings,
  ) {
    const { server, records, behaviour } = around;
    this.output = new SessionOutput(call, behaviour, (text) =>
      records.sent(`${server}/${this.number}`, text),
    );
  }

  request(request: OpenSessionRequest): void {
    if (this.isOver) return;
    const id = Number(request.heartbeatId);
    if (!this.history && !this.open(request)) return;
    if (id > 1) this.heartbeat(id);
    if (request.commands.length > this.around.behaviour.maxCommandCount) {
      this.around.records.violation(`a request has ${request.commands.length} commands`);
    }
    for (const { commandId, command } of request.commands) {
      if (this.isOver || !command || !this.history) return;
      this.around.checks.command(this.history, commandId);
      this.run(commandId, command);
    }
  }

  halfClosed(): void {
    this.record('half_close', {});
    if (!this.isOver) this.call.end();
    this.over();
  }

  /** The end of the call may be told twice. */
  closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.record('closed', {});
    this.over();
  }

  end(status: StatusSpec): void {
    if (this.isOver) return;
    this.output.flush();
    this.over();
    this.around.records.sent(`${this.around.server}/${this.number}`, `end ${JSON.stringify(status)}`);
    this.call.emit('error', serviceError(status));
  }

  cut(): void {
    this.over();
    this.cutConnection();
  }

  /** The number of a lease in this session. */
  numberOf(name: string): bigint | undefined {
    for (const [number, { held }] of this.places) if (held?.wanted.name === name) return number;
    return undefined;
  }

  get isOpen(): boolean {
    return this.history !== undefined && !this.isOver;
  }

  private open({ start, heartbeatId }: OpenSessionRequest): boolean {
    const { checks, records, behaviour } = this.around;
    if (!start) {
      records.violation('the first request of a session has no start');
      this.end(statusSpec('INVALID_FIELD'));
      return false;
    }
    this.clientId = start.clientId;
    this.number = Number(start.sessionNumber);
    this.history = checks.start(start.clientId, this.number, Number(heartbeatId), this.connection);
    const { holderId, metadata } = start;
    const authorization = String(this.call.metadata.get('authorization')[0] ?? '');
    this.record('session', { holder_id: holderId, metadata: Object.fromEntries(metadata), authorization });
    const act = behaviour.takeovers.next('session', '');
    if (act?.kind === 'end' || act?.kind === 'fail') this.end(act.status);
    else if (act?.kind === 'cut') this.cut();
    if (this.isOver) return false;
    this.defaults = { holderId, metadata };
    this.output.start();
    if (act?.kind !== 'drop') this.output.heartbeat(1);
    this.watchSilence();
    return true;
  }

  private heartbeat(id: number): void {
    if (!this.history) return;
    this.around.checks.heartbeat(this.history, id);
    this.record('heartbeat', { heartbeat_id: id });
    this.lastHeartbeatAt = performance.now();
    this.output.heartbeat(id);
    this.watchSilence();
  }

  private watchSilence(): void {
    clearTimeout(this.silence);
    const { heartbeatTimeoutMs, silent } = this.around.behaviour;
    this.silence = setTimeout(() => !silent && this.end(statusSpec('SESSION_SILENT')), heartbeatTimeoutMs);
  }

  private run(commandId: bigint, command: Command): void {
    const kind = SNAKE[command.$case];
    const name = this.recordCommand(kind, command);
    const act = this.around.behaviour.takeovers.next(kind, name);
    const place = new CommandPlace(commandId, this);
    if (act?.kind === 'loseAnswer' || (act && 'after' in act && act.after)) place.isMute = true;
    if (act && !this.actBefore(act, place, command)) return;
    this.carryOut(command, place);
    if (act) this.actAfter(act, place);
  }

  /** False: the command is not carried out now. */
  private actBefore(act: Act, place: CommandPlace, command: Command): boolean {
    if (act.kind === 'fail') place.failed(act.status);
    else if (act.kind === 'delay') setTimeout(() => !this.isOver && this.carryOut(command, place), act.ms);
    else if (act.kind === 'end' && !act.after) this.end(act.status);
    else if (act.kind === 'cut' && !act.after) this.cut();
    else return act.kind !== 'drop';
    return false;
  }

  private actAfter(act: Act, place: CommandPlace): void {
    if (act.kind === 'end' && act.after) this.end(act.status);
    if (act.kind === 'cut' && act.after) this.cut();
    if (act.kind === 'ended' && place.held) this.around.store.endByCase(place.held, act.cause);
  }

  /** Records the command, checks it, and returns the name of its lock or semaphore. */
  private recordCommand(kind: string, command: Command): string {
    const { store, checks } = this.around;
    const { history } = this;
    const fields: Record<string, unknown> = {};
    if (command.$case === 'acquireLock' || command.$case === 'acquirePermits') {
      const wanted = this.wantedOf(command);
      if (history) checks.acquire(history, wanted);
      const { name, requestId: request_id, ttlMs: ttl_ms, waitMs: wait_ms, permits, limit } = wanted;
      const { holderId: holder_id, metadata, shared } = wanted;
      const more = kind === 'acquire_lock' ? { mode: shared ? 'shared' : 'exclusive' } : { permits, limit };
      Object.assign(fields, { name, request_id, ttl_ms, wait_ms, holder_id, ...more });
      fields['metadata'] = Object.fromEntries(metadata);
    } else if (command.$case === 'attach') {
      const { leaseId } = command.value;
      fields['name'] = nameOf(store, leaseId);
      if (history)
        checks.attach(
          history,
          leaseId,
          store.granted.find((one) => one.leaseId === leaseId),
        );
    } else if (command.$case === 'release') {
      const leaseId = this.releasedId(command);
      Object.assign(fields, { name: nameOf(store, leaseId), by: command.value.lease?.$case });
      if (history && leaseId !== undefined) checks.release(history, leaseId);
    } else if (command.$case === 'update') {
      const { leaseNumber, metadataUpdate } = command.value;
      const held = this.places.get(leaseNumber)?.held;
      if (!held)
        this.around.records.violation(`an update names ${leaseNumber}, which is no lease of the session`);
      Object.assign(fields, {
        name: held?.wanted.name,
        metadata: Object.fromEntries(metadataUpdate?.entries ?? []),
      });
    } else {
      const place = this.places.get(command.value.commandId);
      fields['name'] = place?.held?.wanted.name ?? place?.name;
    }
    this.record(kind, fields);
    return typeof fields['name'] === 'string' ? fields['name'] : '';
  }

  private carryOut(command: Command, place: CommandPlace): void {
    const { store } = this.around;
    if (command.$case === 'acquireLock' || command.$case === 'acquirePermits') {
      const wanted = this.wantedOf(command);
      place.name = wanted.name;
      this.places.set(place.commandId, place);
      store.acquire(wanted, place);
    } else if (command.$case === 'attach') {
      this.places.set(place.commandId, place);
      store.attach(command.value.leaseId, place);
    } else if (command.$case === 'cancel') {
      const cancelled = this.places.get(command.value.commandId);
      if (cancelled) store.cancel(cancelled);
    } else if (command.$case === 'release') {
      const leaseId = this.releasedId(command);
      if (leaseId === undefined) return place.failed(statusSpec('LEASE_NOT_HELD'));
      const { released, cause } = store.release(leaseId);
      const lossCause = LossCause[`LOSS_CAUSE_${cause}` as keyof typeof LossCause] ?? 0;
      place.send({ $case: 'released', value: { released, lossCause } });
    } else {
      const held = this.places.get(command.value.leaseNumber)?.held;
      if (!held) return place.failed(statusSpec('LEASE_NOT_HELD'));
      held.wanted.metadata = command.value.metadataUpdate?.entries ?? new Map();
      store.tellWatchers();
      place.send({ $case: 'updated', value: {} });
    }
  }

  private wantedOf(command: Command) {
    if (command.$case === 'acquireLock') return wantedLock(command.value, this.defaults);
    if (command.$case === 'acquirePermits') return wantedPermits(command.value, this.defaults);
    throw new Error(`${command.$case} acquires nothing`);
  }

  private releasedId({ value }: Extract<Command, { $case: 'release' }>): string | undefined {
    if (value.lease?.$case === 'leaseId') return value.lease.value;
    if (value.lease?.$case !== 'leaseNumber') return undefined;
    const held = this.places.get(value.lease.value)?.held;
    if (!held)
      this.around.records.violation(`a release names ${value.lease.value}, which is no lease of the session`);
    return held?.leaseId;
  }

  heldHere(place: CommandPlace, held: Holding): void {
    const { store, behaviour } = this.around;
    renewWhileHeld(held, behaviour, performance.now(), {
      lastHeartbeatAt: () => this.lastHeartbeatAt,
      isHere: () => !this.isOver && held.place === place,
      renew: () => {
        store.renew(held);
        this.output.renewal(place.commandId, held);
      },
    });
  }

  private over(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.silence);
    this.output.end();
  }

  private record(kind: string, fields: Readonly<Record<string, unknown>>): void {
    const { number: session, clientId: client_id, connection } = this;
    this.around.records.add(this.around.server, kind, { session, client_id, connection, ...fields });
  }
}

function nameOf(store: Store, leaseId: string | undefined): string | undefined {
  return store.granted.find((one) => one.leaseId === leaseId)?.wanted.name;
}
