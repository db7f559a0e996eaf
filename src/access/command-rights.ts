import type { HoldfastError } from '../base/errors';
import type { CommandRights } from '../leases/sessions/session-requests';
import type { AuditedCaller, AuditLog } from './audit';
import {
  CallPermissions,
  type Authorization,
  type CheckedCall,
  type MissingPermission,
} from './authorization';
import type { CallRule } from './call-rules';

/** Who sends the commands of a session. */
export type CommandCaller = AuditedCaller;

/** What a command names: in the request of an acquire, or by the name of its lease. */
export type NamedByCommand = { readonly request: unknown } | { readonly name: string };

/** The rights of a caller without a policy. */
export const EVERY_RIGHT: CommandRights & Pick<CheckedRights, 'maxTtlMs'> = {
  maxTtlMs: undefined,
  hidesHolders: false,
  onNotAllowed: () => undefined,
  close: () => undefined,
};

/** The rights for one command of a session, by the rule of the unary call that does the same. */
export class CheckedRights implements CommandRights, CheckedCall {
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
