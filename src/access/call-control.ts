import type { Accounts } from '../base/accounts';
import type { AuditLog } from './audit';
import type { Authorization } from './authorization';
import type { CallRule } from './call-rules';

/** What callers may do, and the record of what they did. */
export interface CallControl {
  /** The rules of the calls of the contract, by path. Other calls are not checked. */
  readonly rules: ReadonlyMap<string, CallRule>;
  /** Undefined: every caller may do everything. */
  readonly authorization: Authorization | undefined;
  /** Undefined: this server has no quotas. */
  readonly accounts: Accounts | undefined;
  readonly audit: AuditLog;
}
