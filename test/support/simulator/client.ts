import type { LockMode, Micros } from '../history';
import type { Recorder } from '../history-recorder';
import type { ManualLoop } from './loop';
import type { Answer, LeaseCallMessage, OpenCall } from './messages';
import type { IsBroken } from './mutations';
import { SimProcess } from './process';

const SECOND: Micros = 1_000_000;

/** One request of one client, from asking to letting go. */
export interface Job {
  readonly client: string;
  readonly name: string;
  readonly rpc: 'acquire' | 'hold';
  readonly mode: LockMode;
  readonly permits: number;
  readonly ttlUs: Micros;
  /** null: as long as it takes; 0: try once. */
  readonly waitTimeoutUs: Micros | null;
  readonly startUs: Micros;
  /** How long it works once granted. */
  readonly workUs: Micros;
  /** Unary renewals while it works; null for none. */
  readonly renewEveryUs: Micros | null;
  readonly renewTtlUs?: Micros;
  /** What it does when its work is done: give the lease back, or walk away from it. */
  readonly end: 'release' | 'abandon';
  /** It gives up if it is not granted by then. */
  readonly cancelAfterUs: Micros | null;
  /** It renews and releases even when its deadline has passed, as clients do that never look. */
  readonly stubborn?: boolean;
  /** It sends its request once more, with the same id, after that long. */
  readonly repeatAfterUs?: Micros;
}

export interface ClientNetwork {
  open(client: SimClient, call: OpenCall): void;
  cancel(client: SimClient, callId: string): void;
  leaseCall(client: SimClient, kind: 'renew' | 'release', call: LeaseCallMessage): void;
  /** Picks another server for the next calls. */
  reconnect(client: SimClient): void;
}

interface HeldLease {
  readonly id: string;
  deadline: Micros;
  ended: boolean;
}

/** A call in flight, and the job it belongs to. */
interface OpenedCall {
  readonly kind: 'grant' | 'renew' | 'release';
  readonly run: Run;
  readonly t0: Micros;
}

interface Run {
  readonly job: Job;
  readonly requestId: string;
  lease: HeldLease | null;
  /** The call whose answers speak for the request or lease. */
  current: string | null;
  over: boolean;
  releaseTries: number;
}

/** A client by the rules of the contract: its own clock, its own deadlines, retries with the same id. */
export class SimClient extends SimProcess {
  private readonly calls = new Map<string, OpenedCall>();
  private count = 0;
  private quitting = false;

  constructor(
    name: string,
    loop: ManualLoop,
    private readonly recorder: Recorder,
    private readonly network: ClientNetwork,
    private readonly isBroken: IsBroken,
  ) {
    super(name, loop);
  }

  start(job: Job): void {
    this.count += 1;
    const requestId = `${this.name}-r${this.count}`;
    const run: Run = { job, requestId, lease: null, current: null, over: false, releaseTries: 0 };
    this.ask(run);
    if (job.cancelAfterUs !== null) {
      this.after(job.cancelAfterUs, () => {
        if (run.lease === null) this.giveUp(run);
      });
    }
    if (job.repeatAfterUs !== undefined) this.after(job.repeatAfterUs, () => this.ask(run));
  }

  /** The connection of these calls broke. */
  disconnected(callIds: readonly string[]): void {
    for (const callId of callIds) {
      this.receive(callId, { type: 'ended', code: 'UNAVAILABLE', reason: null });
    }
  }

  openCalls(): string[] {
    return [...this.calls.keys()];
  }

  /** Gives up all that it does, and asks for nothing more. */
  quit(): void {
    this.quitting = true;
    for (const { run } of [...this.calls.values()]) this.giveUp(run);
  }

  receive(callId: string, answer: Answer): void {
    const call = this.calls.get(callId);
    if (call === undefined) return;
    const at = this.loop.now;
    const base = { client: this.name, call: callId };
    switch (answer.type) {
      case 'granted':
        return this.onGranted(call, callId, answer, at);
      case 'renewed': {
        const deadline = this.deadline(call.t0, answer, at);
        this.recorder.record({ ...base, ...answer, t0: call.t0, deadline });
        const { lease } = call.run;
        if (lease !== null && deadline > lease.deadline) lease.deadline = deadline;
        return;
      }
      case 'lost':
      case 'released':
        this.recorder.record({ ...base, ...answer });
        if (call.run.lease !== null) call.run.lease.ended = true;
        return;
      case 'release_answered':
        this.recorder.record({ ...base, ...answer });
        call.run.over = true;
        return;
      case 'ended':
        this.recorder.record({ ...base, ...answer });
        this.calls.delete(callId);
        return this.onEnded(call, callId, answer.code);
      default:
        this.recorder.record({ ...base, ...answer });
    }
  }

  private ask(run: Run, leaseId: string | null = null): void {
    if (this.quitting) return;
    const { job, requestId } = run;
    const rpc = leaseId === null ? job.rpc : 'attach';
    const id = this.newCall('grant', run);
    run.current = id;
    const { name, mode, ttlUs, waitTimeoutUs, permits } = job;
    this.recorder.record({
      type: 'asked',
      client: this.name,
      call: id,
      requestId: leaseId === null ? requestId : null,
      lease: leaseId,
      permitCount: permits,
      ...{ rpc, name, mode, ttlUs, waitTimeoutUs },
    });
    this.network.open(this, {
      id,
      client: this,
      requestId,
      leaseId,
      rpc,
      name,
      mode,
      permits,
      ttlUs,
      waitTimeoutUs,
    });
  }

  private onGranted(
    call: OpenedCall,
    callId: string,
    answer: Extract<Answer, { type: 'granted' }>,
    at: Micros,
  ): void {
    const { run } = call;
    const deadline = this.deadline(call.t0, answer, at);
    this.recorder.record({
      client: this.name,
      call: callId,
      name: run.job.name,
      ...answer,
      t0: call.t0,
      deadline,
    });
    if (deadline <= at && !run.job.stubborn) return this.giveUp(run);
    if (run.lease !== null) {
      run.lease.deadline = Math.max(run.lease.deadline, deadline);
      return;
    }
    const lease = { id: answer.lease, deadline, ended: false };
    run.lease = lease;
    this.after(run.job.workUs, () => this.finish(run, lease));
    if (run.job.renewEveryUs !== null) this.renewEvery(run, lease, run.job.renewEveryUs);
    if (run.job.rpc === 'hold') this.watch(run, lease);
  }

  private deadline(t0: Micros, answer: { ttlUs: Micros; expireOffsetUs: Micros }, at: Micros): Micros {
    if (this.isBroken('deadline_from_receipt')) return at + answer.expireOffsetUs;
    return Math.min(t0 + answer.expireOffsetUs, at + answer.ttlUs);
  }

  private believes(run: Run, lease: HeldLease): boolean {
    return !lease.ended && (run.job.stubborn === true || this.loop.now < lease.deadline);
  }

  private finish(run: Run, lease: HeldLease): void {
    if (run.over) return;
    const releases = run.job.end === 'release' && this.believes(run, lease);
    if (releases) this.release(run, lease);
    else this.giveUp(run);
  }

  private release(run: Run, lease: HeldLease): void {
    run.releaseTries += 1;
    const id = this.newCall('release', run);
    this.recorder.record({ type: 'release_asked', client: this.name, call: id, lease: lease.id });
    this.network.leaseCall(this, 'release', { id, client: this, leaseId: lease.id, ttlUs: null });
    this.after(3 * SECOND, () => {
      if (this.calls.has(id)) this.receive(id, { type: 'ended', code: 'DEADLINE_EXCEEDED', reason: null });
    });
  }

  private renewEvery(run: Run, lease: HeldLease, interval: Micros): void {
    this.after(interval, () => {
      if (this.quitting || run.over || run.releaseTries > 0 || !this.believes(run, lease)) return;
      const id = this.newCall('renew', run);
      const ttlUs = run.job.renewTtlUs ?? null;
      this.recorder.record({ type: 'renew_asked', client: this.name, call: id, lease: lease.id, ttlUs });
      this.network.leaseCall(this, 'renew', { id, client: this, leaseId: lease.id, ttlUs });
      this.after(3 * SECOND, () => {
        if (this.calls.has(id)) this.receive(id, { type: 'ended', code: 'DEADLINE_EXCEEDED', reason: null });
      });
      this.renewEvery(run, lease, interval);
    });
  }

  /** A stream that outlives its lease by far is left. */
  private watch(run: Run, lease: HeldLease): void {
    this.after(lease.deadline - this.loop.now + 3 * SECOND, () => {
      if (run.over) return;
      if (lease.deadline + 3 * SECOND > this.loop.now) this.watch(run, lease);
      else this.giveUp(run);
    });
  }

  private onEnded(call: OpenedCall, callId: string, code: string): void {
    const { run } = call;
    const broken = code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED';
    if (call.kind === 'release' && broken && run.releaseTries < 5) {
      this.network.reconnect(this);
      const { lease } = run;
      if (lease !== null) this.after(SECOND / 20, () => this.release(run, lease));
      return;
    }
    if (call.kind !== 'grant' || run.current !== callId) return;
    if (!broken || run.over) {
      run.over ||= run.lease === null;
      return;
    }
    this.network.reconnect(this);
    const { lease } = run;
    if (lease !== null && (lease.ended || !this.believes(run, lease) || run.releaseTries > 0)) return;
    this.after(SECOND / 20, () => {
      if (!run.over) this.ask(run, lease?.id ?? null);
    });
  }

  private giveUp(run: Run): void {
    run.over = true;
    for (const [id, call] of [...this.calls]) {
      if (call.run !== run) continue;
      this.calls.delete(id);
      this.recorder.record({ type: 'cancelled', client: this.name, call: id });
      this.network.cancel(this, id);
    }
  }

  private newCall(kind: OpenedCall['kind'], run: Run): string {
    this.count += 1;
    const id = `${this.name}-c${this.count}`;
    this.calls.set(id, { kind, run, t0: this.loop.now });
    return id;
  }
}
