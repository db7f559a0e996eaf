import type { Micros } from '../history';
import type { Recorder } from '../history-recorder';
import { type IsBroken, type Job, type ManualLoop, SimProcess } from './loop';
import type { Answer, LeaseCallMessage, OpenCall } from './messages';

const SECOND: Micros = 1_000_000;
const RETRY_AFTER: Micros = SECOND / 20;
const CALL_TIMEOUT: Micros = 3 * SECOND;
const MAX_RELEASE_TRIES = 5;

export interface ClientNetwork {
  open(client: SimClient, call: OpenCall): void;
  cancel(client: SimClient, callId: string): void;
  leaseCall(client: SimClient, kind: 'renew' | 'release', call: LeaseCallMessage): void;
  /** Sends the client's next calls to another server. */
  reconnect(client: SimClient): void;
}

interface HeldLease {
  readonly id: string;
  deadline: Micros;
  ended: boolean;
}

/** A call in flight. */
interface OpenedCall {
  readonly kind: 'grant' | 'renew' | 'release';
  readonly run: JobRun;
  readonly t0: Micros;
}

interface JobRun {
  readonly job: Job;
  readonly requestId: string;
  lease: HeldLease | null;
  /** The latest call of the request or lease. Answers to older calls do not cause a retry. */
  current: string | null;
  over: boolean;
  releaseTries: number;
}

/** A client that follows the contract: the client computes its own deadlines and retries with the same request id. */
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
    const run: JobRun = { job, requestId, lease: null, current: null, over: false, releaseTries: 0 };
    this.acquire(run);
    if (job.cancelAfterUs !== null) {
      this.after(job.cancelAfterUs, () => {
        if (run.lease === null) this.giveUp(run);
      });
    }
    if (job.repeatAfterUs !== undefined) this.after(job.repeatAfterUs, () => this.acquire(run));
  }

  /** Ends calls with a broken connection. */
  disconnected(callIds: readonly string[]): void {
    for (const callId of callIds) {
      this.receive(callId, { type: 'ended', code: 'UNAVAILABLE', reason: null });
    }
  }

  openCalls(): string[] {
    return [...this.calls.keys()];
  }

  /** Cancels all calls, and starts no more. */
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

  private acquire(run: JobRun, leaseId: string | null = null): void {
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
    if (deadline <= at && !run.job.ignoresDeadline) return this.giveUp(run);
    if (run.lease !== null) {
      run.lease.deadline = Math.max(run.lease.deadline, deadline);
      return;
    }
    const lease = { id: answer.lease, deadline, ended: false };
    run.lease = lease;
    this.after(run.job.workUs, () => this.finish(run, lease));
    if (run.job.renewEveryUs !== null) this.renewEvery(run, lease, run.job.renewEveryUs);
    if (run.job.rpc === 'hold') this.leaveOverdueStream(run, lease);
  }

  private deadline(t0: Micros, answer: { ttlUs: Micros; expireOffsetUs: Micros }, at: Micros): Micros {
    if (this.isBroken('deadline_from_receipt')) return at + answer.expireOffsetUs;
    return Math.min(t0 + answer.expireOffsetUs, at + answer.ttlUs);
  }

  private believes(run: JobRun, lease: HeldLease): boolean {
    return !lease.ended && (run.job.ignoresDeadline === true || this.loop.now < lease.deadline);
  }

  private finish(run: JobRun, lease: HeldLease): void {
    if (run.over) return;
    if (run.job.end === 'release' && this.believes(run, lease)) this.release(run, lease);
    else this.giveUp(run);
  }

  private release(run: JobRun, lease: HeldLease): void {
    run.releaseTries += 1;
    const id = this.newCall('release', run);
    this.recorder.record({ type: 'release_asked', client: this.name, call: id, lease: lease.id });
    this.network.leaseCall(this, 'release', { id, client: this, leaseId: lease.id, ttlUs: null });
    this.after(CALL_TIMEOUT, () => {
      if (this.calls.has(id)) this.receive(id, { type: 'ended', code: 'DEADLINE_EXCEEDED', reason: null });
    });
  }

  private renewEvery(run: JobRun, lease: HeldLease, interval: Micros): void {
    this.after(interval, () => {
      if (this.quitting || run.over || run.releaseTries > 0 || !this.believes(run, lease)) return;
      const id = this.newCall('renew', run);
      const ttlUs = run.job.renewTtlUs ?? null;
      this.recorder.record({ type: 'renew_asked', client: this.name, call: id, lease: lease.id, ttlUs });
      this.network.leaseCall(this, 'renew', { id, client: this, leaseId: lease.id, ttlUs });
      this.after(CALL_TIMEOUT, () => {
        if (this.calls.has(id)) this.receive(id, { type: 'ended', code: 'DEADLINE_EXCEEDED', reason: null });
      });
      this.renewEvery(run, lease, interval);
    });
  }

  /** Closes a stream that is silent long after the deadline of its lease. */
  private leaveOverdueStream(run: JobRun, lease: HeldLease): void {
    this.after(lease.deadline - this.loop.now + 3 * SECOND, () => {
      if (run.over) return;
      if (lease.deadline + 3 * SECOND > this.loop.now) this.leaveOverdueStream(run, lease);
      else this.giveUp(run);
    });
  }

  private onEnded(call: OpenedCall, callId: string, code: string): void {
    const { run } = call;
    const broken = code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED';
    if (call.kind === 'release' && broken && run.releaseTries < MAX_RELEASE_TRIES) {
      this.network.reconnect(this);
      const { lease } = run;
      if (lease !== null) this.after(RETRY_AFTER, () => this.release(run, lease));
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
    this.after(RETRY_AFTER, () => {
      if (!run.over) this.acquire(run, lease?.id ?? null);
    });
  }

  private giveUp(run: JobRun): void {
    run.over = true;
    for (const [id, call] of [...this.calls]) {
      if (call.run !== run) continue;
      this.calls.delete(id);
      this.recorder.record({ type: 'cancelled', client: this.name, call: id });
      this.network.cancel(this, id);
    }
  }

  private newCall(kind: OpenedCall['kind'], run: JobRun): string {
    this.count += 1;
    const id = `${this.name}-c${this.count}`;
    this.calls.set(id, { kind, run, t0: this.loop.now });
    return id;
  }
}
