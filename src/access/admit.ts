import { type Account, type Accounts, NO_QUOTAS, type Quotas } from '../base/accounts';
import { HoldfastError } from '../base/errors';
import type { CallTrace } from '../base/log';
import type { Access, ArrivingCall } from './access';
import type { AuditedAct, AuditLog } from './audit';
import {
  type Authorization,
  CallPermissions,
  type CallRule,
  type CheckedCall,
  CheckedRights,
  EVERY_RIGHT,
  type MissingPermission,
  type NamedByCommand,
} from './authorization';
import { type Caller, endedCredential } from './caller';
import type { EndableCall, OpenCall } from './open-credentials';
import type { Verb } from './policy';

/** What decides about callers, and the record of what they did. */
export interface Admission {
  /** Proves the caller of each call. Undefined: this server does not authenticate callers. */
  readonly access: Access | undefined;
  /** Undefined: every caller may do everything. */
  readonly authorization: Authorization | undefined;
  /** Undefined: this server has no quotas. */
  readonly accounts: Accounts | undefined;
  readonly audit: AuditLog;
  /** The rules of the calls, by their rows. */
  readonly rules: ReadonlyMap<object, CallRule>;
}

/**
 * A call whose caller is proven, whose names are checked, and which counts for the quotas of its caller. What the caller
 * may do can be asked until the end of the call, also after a reload of the policy. A door adds how the call comes in and
 * is answered.
 */
export abstract class AdmittedCall implements EndableCall, CheckedCall {
  /** Empty: this server does not authenticate callers, or the caller is not proven yet. */
  identity = '';
  private permissions: CallPermissions | undefined;
  private act: AuditedAct | undefined;
  private whenNotAllowed: (() => void) | undefined;
  private openCall: OpenCall | undefined;
  private knownAccount: Account | undefined;
  private hasStream = false;

  /** @param rule undefined: every proven caller may make the call */
  constructor(
    private readonly admission: Admission,
    private readonly arriving: ArrivingCall,
    private readonly rule: CallRule | undefined,
  ) {}

  /** Ends the call early with this error. */
  protected abstract endWith(error: HoldfastError): void;

  get method(): string {
    return this.arriving.method;
  }

  get peer(): string {
    return this.arriving.peer;
  }

  get connection(): object {
    return this.arriving.connection;
  }

  get trace(): CallTrace {
    return this.arriving.trace ?? {};
  }

  /**
   * Sets the identity. Throws, or rejects, if the caller is not proven. Returns no promise if the credential is known.
   */
  prove(): Promise<void> | undefined {
    const { access } = this.admission;
    if (access === undefined) return undefined;
    const caller = access.prove(this.arriving);
    if (caller instanceof Promise) return caller.then((found) => this.proven(found, access));
    this.proven(caller, access);
    return undefined;
  }

  private proven(caller: Caller, access: Access): void {
    this.identity = caller.identity;
    this.openCall = access.open.add(caller, this);
  }

  /** Checks the names of the request, and counts the call. Throws NOT_ALLOWED or QUOTA_EXCEEDED. */
  admit(request: unknown, isStream: boolean): void {
    this.checkNames(request);
    this.count(request, isStream);
  }

  /**
   * Admits a call whose messages come later, if its caller may use any name. Throws NOT_ALLOWED or QUOTA_EXCEEDED.
   * @param countsItself true: the handler counts the call
   */
  admitStream(countsItself: boolean): void {
    if (this.rule !== undefined) this.permissionsBy(this.rule)?.requireSome();
    if (!countsItself) this.count(undefined, true);
  }

  private count(request: unknown, isStream: boolean): void {
    const { account } = this;
    if (account === undefined) return;
    const keepsLease = this.rule?.keepsLease?.(request as never) ?? false;
    if (!keepsLease) account.takeCommand();
    if (!isStream) return;
    account.openStream(keepsLease);
    this.hasStream = true;
  }

  checkNames(message: unknown): void {
    const { rule } = this;
    if (rule === undefined) return;
    this.permissionsBy(rule)?.check(message);
    this.act = rule.audit?.(message as never) ?? this.act;
  }

  private permissionsBy(rule: CallRule): CallPermissions | undefined {
    const { authorization } = this.admission;
    if (authorization === undefined || this.permissions !== undefined) return this.permissions;
    this.permissions = new CallPermissions(authorization, rule, this);
    authorization.add(this.permissions);
    return this.permissions;
  }

  rightsFor(row: object, named: NamedByCommand): typeof EVERY_RIGHT {
    const { authorization, audit, rules } = this.admission;
    if (authorization === undefined) return EVERY_RIGHT;
    const rule = rules.get(row);
    if (rule === undefined) throw new Error('the command has no row with a rule');
    return new CheckedRights(this, authorization, audit, rule, named);
  }

  takeCommand(): void {
    this.account?.takeCommand();
  }

  get account(): Account | undefined {
    if (this.rule === undefined) return undefined;
    this.knownAccount ??= this.admission.accounts?.of(this.identity, this.connection);
    return this.knownAccount;
  }

  get quotas(): Quotas {
    return this.account?.quotas ?? NO_QUOTAS;
  }

  get hidesHolders(): boolean {
    return this.permissions?.hidesHolders ?? false;
  }

  get maxTtlMs(): number | undefined {
    return this.permissions?.maxTtlMs;
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

  onNotAllowed(listener: () => void): void {
    this.whenNotAllowed = listener;
  }

  /** The caller lacks a permission. After a reload of the policy, an open call ends. */
  permissionMissing({ service, verb, name, error }: MissingPermission, afterReload: boolean): void {
    this.admission.audit.refused(this, { service, verb, name, outcome: 'NOT_ALLOWED' });
    if (!afterReload) return;
    if (this.whenNotAllowed !== undefined) this.whenNotAllowed();
    else this.endWith(error);
  }

  /** A stream or a wait must not outlive the credential of its caller. Leases that were granted continue. */
  credentialEnded(): void {
    this.endWith(endedCredential());
  }

  /** Writes the audit line of an act. An invalid request does nothing, and a refused call has its own line. */
  auditOutcome(outcome: string): void {
    if (this.act === undefined || outcome === 'INVALID_FIELD' || outcome === 'NOT_ALLOWED') return;
    this.admission.audit.act(this, this.act, outcome);
  }

  /** Writes the audit line of a call that a quota has refused. */
  protected auditQuota(error: unknown): void {
    if (!(error instanceof HoldfastError)) return;
    const { quota, limit } = error.details.metadata ?? {};
    if (quota === undefined || limit === undefined) return;
    this.admission.audit.refused(this, { outcome: 'QUOTA_EXCEEDED', quota, limit });
  }

  /** The call has ended. */
  protected closeAdmission(): void {
    this.permissions?.close();
    this.openCall?.close();
    if (this.hasStream) this.account?.closeStream();
  }
}
