import { QUOTA_NAMES, type QuotaName } from '../base/quotas';
import { identityGlob } from './identity-glob';
import { unitedMaxTtl, type PolicyRule } from './policy';
import type { QuotaRule } from './quota-rules';
import type { ServiceName, Verb } from './verbs';

export interface PolicyQuestion {
  readonly identity: string;
  readonly verb: Verb;
  readonly service: ServiceName;
  /** The empty text for calls without a name. */
  readonly name: string;
}

export interface PolicyDecision {
  readonly isAllowed: boolean;
  /** The longest prefix of the name in rules for the identity and the service. Undefined: no rule has one. */
  readonly prefix: string | undefined;
  /** The indexes of the rules with this prefix. If the call is allowed: only the rules that allow it. */
  readonly deciding: readonly number[];
  /** The longest ttl that the deciding rules allow to the call. Undefined: that of the server, or the call has none. */
  readonly maxTtl: string | undefined;
}

export interface QuotaDecision {
  readonly name: QuotaName;
  readonly limit: number;
  /** The index of the item that decides. */
  readonly index: number;
  /** The identities of the item share the quota. */
  readonly isShared: boolean;
}

/** The quotas that the policy gives an identity, as `QuotaRules` finds them. The settings of a server may add others. */
export function decideQuotas(quotas: readonly QuotaRule[], identity: string): readonly QuotaDecision[] {
  return QUOTA_NAMES.flatMap((name) => {
    const index = quotas.findIndex(
      ({ identities, [name]: limit }) =>
        limit !== undefined && (identities?.some((glob) => identityGlob(glob)(identity)) ?? true),
    );
    const item = quotas[index];
    const limit = item?.[name];
    return limit === undefined ? [] : [{ name, limit, index, isShared: item?.count === 'together' }];
  });
}

/**
 * Explains the decision of `Policy` for one call to an operator. Reads the rules one by one and keeps nothing, because a
 * server never calls this function.
 */
export function decide(rules: readonly PolicyRule[], question: PolicyQuestion): PolicyDecision {
  const { identity, verb, service, name } = question;
  const matching = [...rules.entries()].filter(
    ([, rule]) =>
      rule.services.includes(service) && rule.identities.some((glob) => identityGlob(glob)(identity)),
  );
  const prefixes = matching.flatMap(([, rule]) => rule.names.filter((prefix) => name.startsWith(prefix)));
  if (prefixes.length === 0) return { isAllowed: false, prefix: undefined, deciding: [], maxTtl: undefined };
  const longest = prefixes.reduce((one, other) => (other.length > one.length ? other : one));
  const equal = matching.filter(([, rule]) => rule.names.includes(longest));
  const allowing = equal.filter(([, rule]) => rule.allow.includes(verb));
  const isAllowed = allowing.length > 0;
  const maxTtl = isAllowed && verb === 'use' ? unitedMaxTtl(allowing.map(([, rule]) => rule)) : undefined;
  const deciding = (isAllowed ? allowing : equal).map(([index]) => index);
  return { isAllowed, prefix: longest, deciding, maxTtl };
}
