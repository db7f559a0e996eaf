import {
  QUOTA_NAMES,
  SharedUse,
  type CountedQuota,
  type QuotaName,
  type Quotas,
  type QuotaSource,
  type SharedUses,
} from '../base/quotas';
import { identityGlob, type IdentityGlob } from './identity-glob';

/** One item of the key `quotas` of a policy file. */
export interface QuotaRule extends Quotas {
  /** Globs of identities. Undefined: every identity. */
  readonly identities?: readonly string[] | undefined;
  /** 'together': all identities that the item matches share its quotas. Default: each identity has them alone. */
  readonly count?: 'each' | 'together' | undefined;
}

interface CompiledRule {
  readonly quotas: Quotas;
  readonly globs: readonly IdentityGlob[] | undefined;
  /** The use by all identities of the item. Undefined: each identity has the quotas alone. */
  readonly uses: SharedUses | undefined;
}

/** The quotas of a policy file and of the settings. They never change: a reload makes new rules. */
export class QuotaRules implements QuotaSource {
  private readonly rules: readonly CompiledRule[];

  /** `defaults` hold for every caller, after all rules. */
  constructor(rules: readonly QuotaRule[], defaults: Quotas) {
    this.rules = [...rules, defaults].map(({ identities, count, ...quotas }: QuotaRule) => ({
      quotas,
      globs: identities?.map((glob) => identityGlob(glob)),
      uses: count === 'together' ? usesOf(quotas) : undefined,
    }));
  }

  /** For each quota, the first rule decides that matches the identity and has the quota. */
  quotasOf(identity: string): Quotas {
    const found: Partial<Record<QuotaName, number | undefined>> = {};
    for (const [name, { quotas }] of this.deciding(identity)) found[name] = quotas[name];
    return found;
  }

  /** The quotas that an item counts together for the identity and others. */
  sharedOf(identity: string): SharedUses {
    const found: Partial<Record<QuotaName, SharedUse | undefined>> = {};
    for (const [name, { uses }] of this.deciding(identity)) found[name] = uses?.[name as CountedQuota];
    return found;
  }

  /** The rule that decides about each quota. Quotas without a rule are left out. */
  private deciding(identity: string): ReadonlyMap<QuotaName, CompiledRule> {
    const found = new Map<QuotaName, CompiledRule>();
    for (const rule of this.rules) {
      if (rule.globs !== undefined && !rule.globs.some((matches) => matches(identity))) continue;
      for (const name of QUOTA_NAMES) {
        if (rule.quotas[name] !== undefined && !found.has(name)) found.set(name, rule);
      }
    }
    return found;
  }
}

function usesOf(quotas: Quotas): SharedUses {
  const names = QUOTA_NAMES.filter((name) => quotas[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, new SharedUse()]));
}
