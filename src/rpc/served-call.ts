import type { EventEmitter } from 'node:events';
import type {
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import { type Account, NO_QUOTAS, type Quotas } from '../base/accounts';
import type { CallerUse } from '../base/callers';
import type { Clock } from '../base/clock';
import { HoldfastError, type Reason } from '../base/errors';
import { escapeText } from '../base/text';
import type { Access, ArrivingCall } from '../access/access';
import type { AuditedAct } from '../access/audit';
import {
  CallPermissions,
  type CallRule,
  CheckedRights,
  type CheckedCall,
  EVERY_RIGHT,
  type MissingPermission,
  type NamedByCommand,
} from '../access/authorization';
import type { CallControl } from '../access/open-access';
import type { Verb } from '../access/verbs';
import { type Caller, endedCredential, type PresentedCertificate } from '../access/caller';
import type { CallerCounts } from './caller-counts';
import type { EndableCall, OpenCall } from '../access/open-credentials';
import { type CallTrace, type Log, traceOf, traceparentOf } from '../base/meters';
import {
  type CallStatus,
  type ErrorSummary,
  REASON_TRAILER,
  toCallStatus,
  toErrorSummary,
} from './call-errors';
import { connectionOf, endCall, peerCertificateOf, peerOf } from './entry/grpc-js';
import type { HandledCall, KnownRow, OfferedCall } from './service';

const RETRY_HEADER = 'grpc-previous-rpc-attempts';

export type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
export type SingleAnswerCall = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
export type GrpcCall = StreamingCall | SingleAnswerCall;

export interface CallContext {
  readonly clock: Clock;
  readonly log: Log;
  /** Proves the caller of each call. Undefined: this server does not authenticate callers. */
  readonly access?: Access | undefined;
  /** The rules of the calls of the contract, by their rows. */
  readonly rules: ReadonlyMap<object, CallRule>;
  /** Undefined: every caller may do everything, and nothing is audited. */
  readonly control?: CallControl | undefined;
  /** Undefined: nobody counts what callers do. */
  readonly counts?: CallerCounts | undefined;
}

/** The engine's view of a gRPC call. Fields that few calls need are computed on first use. */
export class ServedCall implements HandledCall, ArrivingCall, EndableCall, CheckedCall {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  identity = '';
  caller: CallerUse | undefined;
  private permissions: CallPermissions | undefined;
  private act: AuditedAct | undefined;
  private whenNotAllowed: (() => void) | undefined;
  private openCall: OpenCall | undefined;
  private knownConnection: object | undefined;
  private knownAccount: Account | undefined;
  private hasStream = false;
  private answered = false;

  constructor(
    private readonly grpcCall: GrpcCall,
    private readonly context: CallContext,
    private readonly offered: OfferedCall,
  ) {
    this.receivedAt = context.clock.now();
    // grpc-js keeps the deadline as a time of day. The timeout is computed now, before the wall clock can step.
    const deadline = grpcCall.getDeadline();
    this.timeoutMs = deadline === Infinity ? undefined : Number(deadline) - Date.now();
  }

  get connection(): object {
    // A closed stream has no known connection, so a new object stands for the connection.
    this.knownConnection ??= connectionOf(this.grpcCall) ?? {};
    return this.knownConnection;
  }

  private get row(): KnownRow {
    return this.offered.row as KnownRow;
  }

  get account(): Account | undefined {
    if (this.offered.rule === undefined) return undefined;
    this.knownAccount ??= this.context.control?.accounts?.of(this.identity, this.connection);
    return this.knownAccount;
  }

  get quotas(): Quotas {
    return this.account?.quotas ?? NO_QUOTAS;
  }

  get transportRetry(): boolean {
    return this.grpcCall.metadata.get(RETRY_HEADER).length > 0;
  }

  get hidesHolders(): boolean {
    return this.permissions?.hidesHolders ?? false;
  }

  get maxTtlMs(): number | undefined {
    return this.permissions?.maxTtlMs;
  }

  get cancelled(): boolean {
    return this.grpcCall.cancelled && !this.answered;
  }

  onCancelled(listener: () => void): void {
    const run = (): void => {
      // grpc-js emits 'cancelled' after every call, also after an answered call.
      if (this.answered) return;
      try {
        listener();
      } catch (error) {
        const method = this.grpcCall.getPath();
        this.context.log.error({ err: error, method }, 'the listener of a cancelled call failed');
      }
    };
    if (this.grpcCall.cancelled) run();
    else (this.grpcCall as EventEmitter).once('cancelled', run);
  }

  onNotAllowed(listener: () => void): void {
    this.whenNotAllowed = listener;
  }

  checkNames(message: unknown): void {
    const { rule } = this.offered;
    if (rule === undefined) return;
    this.permissionsBy(rule)?.check(message);
    this.act = this.row.audit?.(message as never) ?? this.act;
  }

  rightsFor(row: KnownRow, named: NamedByCommand): typeof EVERY_RIGHT {
    const { control, rules } = this.context;
    const rule = rules.get(row);
    if (control?.authorization === undefined || rule === undefined) return EVERY_RIGHT;
    return new CheckedRights(this, control.authorization, control.audit, rule, named);
  }

  /** Throws NOT_ALLOWED if the caller may use no name, before the first message of a stream has a name. */
  checkAnyName(): void {
    const { rule } = this.offered;
    if (rule !== undefined) this.permissionsBy(rule)?.requireSome();
  }

  private permissionsBy(rule: CallRule): CallPermissions | undefined {
    const authorization = this.context.control?.authorization;
    if (authorization === undefined || this.permissions !== undefined) return this.permissions;
    this.permissions = new CallPermissions(authorization, rule, this);
    authorization.add(this.permissions);
    return this.permissions;
  }

  /** Counts the call for the quotas of its caller. Throws QUOTA_EXCEEDED. */
  count(request: unknown, stream: boolean): void {
    const { account } = this;
    if (account === undefined) return;
    const keepsLease = this.row.keepsLease?.(request as never) ?? false;
    if (!keepsLease) account.takeCommand();
    if (!stream) return;
    account.openStream(keepsLease);
    this.hasStream = true;
  }

  takeCommand(): void {
    this.account?.takeCommand();
  }

  countCommand(): void {
    const { caller, context } = this;
    if (caller !== undefined) context.counts?.calledAgain(caller);
  }

  /** Counts the call until its end. Its caller is proven, if the server asks for a proof. */
  enter(): void {
    const caller = this.context.counts?.called(this.identity, this.connection);
    if (caller === undefined) return;
    this.caller = caller;
    caller.openCount += 1;
    if (!this.offered.unary) caller.streamCount += 1;
  }

  private leave(caller: CallerUse): void {
    caller.openCount -= 1;
    if (!this.offered.unary) caller.streamCount -= 1;
  }

  may(verb: Verb, name: string): boolean {
    return this.permissions?.may(verb, name) ?? true;
  }

  mayRead(name: string): boolean {
    return this.permissions?.mayRead(name) ?? true;
  }

  nextReadable(name: string): string | undefined {
    return this.permissions === undefined ? name : this.permissions.nextReadable(name);
  }

  /** Writes the audit line of an act. An invalid request does nothing, and a refused call has its own line. */
  auditOutcome(outcome: string): void {
    if (this.act === undefined || outcome === 'INVALID_FIELD' || outcome === 'NOT_ALLOWED') return;
    this.context.control?.audit.act(this, this.act, outcome);
  }

  /** Writes the audit line of a call that a quota has refused. */
  private auditQuota(error: unknown): void {
    if (!(error instanceof HoldfastError)) return;
    const { quota, limit } = error.details.metadata ?? {};
    if (quota === undefined || limit === undefined) return;
    this.context.control?.audit.refused(this, { outcome: 'QUOTA_EXCEEDED', quota, limit });
  }

  /** The caller lacks a permission. After a reload of the policy, an open call ends. */
  permissionMissing(missing: MissingPermission, afterReload: boolean): void {
    const { grpcCall, context, whenNotAllowed } = this;
    const { service, verb, name, error } = missing;
    context.control?.audit.refused(this, { service, verb, name, outcome: 'NOT_ALLOWED' });
    if (!afterReload) return;
    if (whenNotAllowed !== undefined) whenNotAllowed();
    else endCall(grpcCall, this.statusOf(error));
  }

  get authorization(): readonly string[] {
    return this.grpcCall.metadata.get('authorization') as string[];
  }

  peerCertificate(): PresentedCertificate | undefined {
    return peerCertificateOf(this.connection);
  }

  get method(): string {
    return this.grpcCall.getPath();
  }

  get peer(): string {
    return peerOf(this.connection).text;
  }

  get trace(): CallTrace {
    return traceOf(this.grpcCall.metadata);
  }

  get traceparent(): string | undefined {
    return traceparentOf(this.grpcCall.metadata);
  }

  /** The status for an error. A defect is logged with the caller. */
  statusOf(error: unknown): CallStatus {
    return toCallStatus(error, this.method, this.context.log, () => this.loggedCaller);
  }

  /** The status of the failed call. A refusal is counted and audited. */
  failureOf(error: unknown): CallStatus {
    const failure = this.statusOf(error);
    this.auditQuota(error);
    const [reason] = failure.metadata.get(REASON_TRAILER);
    // A call that was refused before its caller was proven has not entered, and is counted here.
    this.context.counts?.refused(this, this.caller, reason as Reason);
    return failure;
  }

  summaryOf(error: unknown): ErrorSummary {
    const summary = toErrorSummary(error, this.method, this.context.log, () => this.loggedCaller);
    this.auditQuota(error);
    this.context.counts?.refused(this, this.caller, summary.reason);
    return summary;
  }

  private get loggedCaller(): object {
    return { identity: escapeText(this.identity), ...this.trace };
  }

  /**
   * Sets the identity. Throws, or rejects, if the caller is not proven. Returns no promise if the credential is
   * known.
   */
  prove(access: Access): Promise<void> | undefined {
    const caller = access.prove(this);
    if (caller instanceof Promise) return caller.then((found) => this.proven(found, access));
    this.proven(caller, access);
    return undefined;
  }

  private proven(caller: Caller, access: Access): void {
    this.identity = caller.identity;
    this.openCall = access.open.add(caller, this);
  }

  /** A stream or a wait must not outlive the credential of its caller. Leases that were granted continue. */
  credentialEnded(): void {
    const { grpcCall, context } = this;
    endCall(grpcCall, toCallStatus(endedCredential(), grpcCall.getPath(), context.log));
  }

  /** Marks the end of the handler. After the end, a 'cancelled' event is no cancellation. */
  end(): void {
    this.answered = !this.grpcCall.cancelled;
    this.permissions?.close();
    this.openCall?.close();
    if (this.hasStream) this.account?.closeStream();
    if (this.caller !== undefined) this.leave(this.caller);
  }
}
