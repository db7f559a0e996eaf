import type { EventEmitter } from 'node:events';
import type {
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
} from '@grpc/grpc-js';
import type { Account } from '../../engine/account';
import type { StreamCall } from '../../engine/call';
import type { Clock } from '../../engine/clock';
import { HoldfastError } from '../../engine/errors';
import { NO_QUOTAS, type Quotas } from '../../engine/quotas';
import type { ReadableNames } from '../../engine/readable-names';
import { escapeText } from '../../wire/escape-text';
import type { Access, ArrivingCall } from '../access/access';
import type { AuditedAct } from '../access/audited-acts';
import { CallPermissions, type CheckedCall, type MissingPermission } from '../access/authorization';
import type { CallControl } from '../access/call-control';
import type { CallRule } from '../access/call-rules';
import type { Caller, PresentedCertificate } from '../access/caller';
import { endedCredential } from '../access/credential-errors';
import type { EndableCall, OpenCall } from '../access/open-credentials';
import { traceOf, traceparentOf, type CallTrace } from './call-trace';
import { toCallStatus, toErrorSummary, type CallStatus, type ErrorSummary } from './errors';
import { connectionOf, endCall, peerCertificateOf } from './grpc-internals';
import type { Log } from './log';

const RETRY_HEADER = 'grpc-previous-rpc-attempts';

export type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;
export type SingleAnswerCall = ServerUnaryCall<unknown, unknown> | ServerReadableStream<unknown, unknown>;
export type GrpcCall = StreamingCall | SingleAnswerCall;

export interface CallContext {
  readonly clock: Clock;
  readonly log: Log;
  /** Proves the caller of each call. Undefined: this server does not authenticate callers. */
  readonly access?: Access | undefined;
  /** Undefined: every caller may do everything, and nothing is audited. */
  readonly control?: CallControl | undefined;
}

/** A call as handlers see it. */
export interface HandledCall extends StreamCall, ReadableNames {
  /** The path of the call. */
  readonly method: string;
  /** The address of the client. */
  readonly peer: string;
  /** Read from the headers at each use. */
  readonly trace: CallTrace;
  /**
   * Checks the names of one message. Throws NOT_ALLOWED. The wrapper checks the request of a call with one message. The
   * handler of a call that reads a stream must pass each message before its use.
   */
  checkNames(message: unknown): void;
  /** Counts one message of a stream as a command of its caller. Throws QUOTA_EXCEEDED. */
  takeCommand(): void;
  /** The parts of an error for a message of a stream that continues. A defect is logged with the caller. */
  summaryOf(error: unknown): ErrorSummary;
}

/** The engine's view of a gRPC call. Fields that few calls need are computed on first use. */
export class ServedCall implements HandledCall, ArrivingCall, EndableCall, CheckedCall {
  readonly receivedAt: number;
  readonly timeoutMs: number | undefined;
  identity = '';
  private readonly rule: CallRule | undefined;
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
  ) {
    this.receivedAt = context.clock.now();
    this.rule = context.control?.rules.get(grpcCall.getPath());
    // grpc-js keeps the deadline as a time of day. The timeout is computed now, before the wall clock can step.
    const deadline = grpcCall.getDeadline();
    this.timeoutMs = deadline === Infinity ? undefined : Number(deadline) - Date.now();
  }

  get connection(): object {
    // A closed stream has no known connection, so a new object stands for the connection.
    this.knownConnection ??= connectionOf(this.grpcCall) ?? {};
    return this.knownConnection;
  }

  get account(): Account | undefined {
    if (this.rule === undefined) return undefined;
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
    const { rule } = this;
    if (rule === undefined) return;
    this.permissionsBy(rule)?.check(message);
    this.act = rule.actOf?.(message) ?? this.act;
  }

  /** Throws NOT_ALLOWED if the caller may use no name, before the first message of a stream has a name. */
  checkAnyName(): void {
    if (this.rule !== undefined) this.permissionsBy(this.rule)?.requireSome();
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
    const keepsLease = this.rule?.keepsLease(request) ?? false;
    if (!keepsLease) account.takeCommand();
    if (!stream) return;
    account.openStream(keepsLease);
    this.hasStream = true;
  }

  takeCommand(): void {
    try {
      this.account?.takeCommand();
    } catch (error) {
      this.auditQuota(error);
      throw error;
    }
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
  auditQuota(error: unknown): void {
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
    return this.grpcCall.getPeer();
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

  summaryOf(error: unknown): ErrorSummary {
    return toErrorSummary(error, this.method, this.context.log, () => this.loggedCaller);
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
  }
}
