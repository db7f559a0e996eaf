import { HoldfastError } from '../base/errors';
import { MAX_NAME_BYTES } from '../base/names';
import { inTurns } from '../flow/turns';
import { Place } from '../flow/bounded-lists';
import type { AuditedAct, AuditedCaller, AuditLog } from './audit';
import type { Permissions, Policy, Verb } from './policy';
import type { RequiredVerb } from './verbs';

/** The permissions of the caller of one call, for the call's service. */
export interface NameChecks {
  /** Throws NOT_ALLOWED unless the caller has the verb of the call for the name. */
  require(name: string): void;
  /** Throws NOT_ALLOWED unless the caller has the verb for the name. */
  requireVerb(verb: Verb, name: string): void;
  /** Checks the names of the message before again, because the policy may have changed. */
  requireAgain(): void;
}

/** Requires the permission for each name in a request. */
export type CheckNames<Request> = (request: Request, caller: NameChecks) => void;

/** What a call needs of its caller. */
export interface CallRule {
  /** The service, as a policy names it. */
  readonly service: string;
  /** What the names of the service are the names of, such as `lock`. Undefined: its calls name only the server. */
  readonly kind: string | undefined;
  readonly verb: RequiredVerb;
  readonly names: CheckNames<never>;
  /** True: no quota refuses the request, because a refusal would lose a lease. */
  readonly keepsLease: ((request: never) => boolean) | undefined;
  /** The line of a request in the audit log. Undefined: none. */
  readonly audit: ((request: never) => AuditedAct | undefined) | undefined;
}

/** Calls that are checked again in one turn of the event loop, after a reload of the policy. */
const CALLS_PER_TURN = 200;

/** The present policy, and the open calls that it allows. */
export class Authorization {
  private readonly open = new Place<CallPermissions>(undefined);
  private recheckCount = 0;

  constructor(private current: Policy) {}

  get policy(): Policy {
    return this.current;
  }

  /** The number of open calls. */
  get size(): number {
    return this.open.all.length;
  }

  /** Uses a new policy for all later checks, and ends the open calls that the new policy no longer allows. */
  replace(policy: Policy): void {
    this.current = policy;
    this.recheckCount += 1;
    const recheck = this.recheckCount;
    const isNewest = (): boolean => recheck === this.recheckCount;
    const check = (call: CallPermissions): void => {
      if (call.place !== undefined) call.recheck();
    };
    inTurns(this.open.all, CALLS_PER_TURN, check, isNewest);
  }

  /** The call is checked again with each new policy, until it is closed. */
  add(call: CallPermissions): void {
    call.place = this.open.append(call);
  }
}

interface Requirement {
  readonly verb: Verb;
  readonly name: string;
}

interface MissingVerb {
  readonly verb: Verb;
  /** Undefined: the caller has the verb for no name. */
  readonly name: string | undefined;
}

/** A permission that the caller lacks. */
export interface MissingPermission extends Requirement {
  readonly service: string;
  readonly error: HoldfastError;
}

/** A call that learns of its missing permissions. */
export interface CheckedCall {
  readonly identity: string;
  /** Called for each refusal before NOT_ALLOWED is thrown, and after a reload that no longer allows the open call. */
  permissionMissing(missing: MissingPermission, afterReload: boolean): void;
}

/** The permissions of the caller of one call. Remembers the names of the call's last message, to check them again. */
export class CallPermissions implements NameChecks {
  private policy: Policy;
  private permissions: Permissions;
  private first: Requirement | undefined;
  private second: Requirement | undefined;
  /** The place among the open calls. Undefined: the call is not open. */
  place: Place<CallPermissions> | undefined;
  /** Whether the call needs its verb for at least one name, before its first message has a name. */
  private needsSome = false;

  constructor(
    private readonly authorization: Authorization,
    private readonly rule: CallRule,
    private readonly call: CheckedCall,
  ) {
    this.policy = authorization.policy;
    this.permissions = this.policy.permissionsOf(call.identity);
  }

  /** The call has ended. */
  close(): void {
    this.place?.close();
    this.place = undefined;
  }

  /** Checks the names of a request, or of one message of a stream. Throws NOT_ALLOWED. */
  check(request: unknown): void {
    (this.rule.names as CheckNames<unknown>)(request, this);
  }

  /** Throws NOT_ALLOWED if the caller has the verb of the call for no name at all. */
  requireSome(): void {
    this.needsSome = true;
    const missing = this.missingForAll();
    if (missing !== undefined) throw this.refuse(missing, false);
  }

  require(name: string): void {
    const { verb } = this.rule;
    if (verb === 'none') return;
    // The first name of a message.
    this.first = undefined;
    this.second = undefined;
    this.requireVerb(verb, name);
  }

  requireVerb(verb: Verb, name: string): void {
    if (!this.may(verb, name)) throw this.refuse({ verb, name }, false);
    if (this.first === undefined) this.first = { verb, name };
    else this.second = { verb, name };
  }

  requireAgain(): void {
    const missing = this.missing();
    if (missing !== undefined) throw this.refuse(missing, false);
  }

  may(verb: Verb, name: string): boolean {
    return this.present.allows(this.rule.service, verb, name);
  }

  mayRead(name: string): boolean {
    return this.may('read', name);
  }

  nextReadable(name: string): string | undefined {
    return this.present.nextReadable(this.rule.service, name);
  }

  /** True: the caller may not read the first name of the call. */
  get hidesHolders(): boolean {
    return this.first !== undefined && !this.mayRead(this.first.name);
  }

  /** The longest ttl of a lease of the call's first name (ms). Undefined: that of the server. */
  get maxTtlMs(): number | undefined {
    return this.first && this.present.maxTtlMs(this.rule.service, this.first.name);
  }

  /** The policy has changed. */
  recheck(): void {
    const missing = this.missing() ?? this.missingForAll();
    if (missing !== undefined) this.refuse(missing, true);
  }

  /** The permissions by the present policy. */
  private get present(): Permissions {
    const { policy } = this.authorization;
    if (policy !== this.policy) {
      this.policy = policy;
      this.permissions = policy.permissionsOf(this.call.identity);
    }
    return this.permissions;
  }

  private missing(): Requirement | undefined {
    return [this.first, this.second].find((one) => one !== undefined && !this.may(one.verb, one.name));
  }

  private missingForAll(): MissingVerb | undefined {
    const { service, verb } = this.rule;
    if (!this.needsSome || verb === 'none' || this.present.allowsSome(service, verb)) return undefined;
    return { verb, name: undefined };
  }

  /** @param missing without a name: the verb for every name */
  private refuse({ verb, name }: MissingVerb, afterReload: boolean): HoldfastError {
    const { service, kind } = this.rule;
    const error = notAllowed(this.call.identity, kind, verb, name);
    this.call.permissionMissing({ service, verb, name: name ?? '', error }, afterReload);
    return error;
  }
}

/** The text names the identity, the verb and the name, and nothing of the policy. */
function notAllowed(
  identity: string,
  kind: string | undefined,
  verb: Verb,
  name: string | undefined,
): HoldfastError {
  const subject = kind === undefined ? 'this server' : subjectOf(kind, name);
  return new HoldfastError(
    'NOT_ALLOWED',
    `${identity} does not have the permission "${verb}" for ${subject}; ask the operator for the permission`,
  );
}

function subjectOf(kind: string, name: string | undefined): string {
  if (name === undefined) return `any ${kind}`;
  // A name that is too long is cut, because the handler has not checked its length.
  return `${kind} ${JSON.stringify(name.length > MAX_NAME_BYTES ? `${name.slice(0, MAX_NAME_BYTES)}…` : name)}`;
}

/** Who sends the commands of a session. */
export type CommandCaller = AuditedCaller;

/** What a command names: in the request of an acquire, or by the name of its lease. */
export type NamedByCommand = { readonly request: unknown } | { readonly name: string };

/** The rights of a caller without a policy. */
export const EVERY_RIGHT: Pick<
  CheckedRights,
  'maxTtlMs' | 'may' | 'hidesHolders' | 'onNotAllowed' | 'close'
> = {
  maxTtlMs: undefined,
  may: () => true,
  hidesHolders: false,
  onNotAllowed: () => undefined,
  close: () => undefined,
};

/** The rights for one command of a session, by the rule of the unary call that does the same. */
export class CheckedRights implements CheckedCall {
  private readonly permissions: CallPermissions;
  private listener: ((error: HoldfastError) => void) | undefined;

  /** Throws NOT_ALLOWED. */
  constructor(
    private readonly caller: CommandCaller,
    authorization: Authorization,
    private readonly audit: AuditLog,
    rule: CallRule,
    named: NamedByCommand,
  ) {
    this.permissions = new CallPermissions(authorization, rule, this);
    if ('name' in named) this.permissions.require(named.name);
    else this.permissions.check(named.request);
    authorization.add(this.permissions);
  }

  get identity(): string {
    return this.caller.identity;
  }

  get hidesHolders(): boolean {
    return this.permissions.hidesHolders;
  }

  /** The longest ttl of a lease of the command's name (ms). Undefined: that of the server. */
  get maxTtlMs(): number | undefined {
    return this.permissions.maxTtlMs;
  }

  may(verb: Verb, name: string): boolean {
    return this.permissions.may(verb, name);
  }

  /** Runs `listener` once when a new policy no longer allows the command. A second listener replaces the first. */
  onNotAllowed(listener: (error: HoldfastError) => void): void {
    this.listener = listener;
  }

  permissionMissing({ service, verb, name, error }: MissingPermission, afterReload: boolean): void {
    this.audit.refused(this.caller, { service, verb, name, outcome: 'NOT_ALLOWED' });
    if (afterReload) this.listener?.(error);
  }

  close(): void {
    this.permissions.close();
  }
}
