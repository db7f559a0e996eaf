import { QUOTA_NAMES, type QuotaName, type Quotas, type QuotaSource } from '../../engine/quotas';
import { identityGlob, type IdentityGlob } from './identity-glob';

/** One item of the key `quotas` of a policy file. */
export interface QuotaRule extends Quotas {
  /** Globs of identities. Undefined: every identity. */
  readonly identities?: readonly string[] | undefined;
}

interface CompiledRule {
  readonly quotas: Quotas;
  readonly globs: readonly IdentityGlob[] | undefined;
}

/** The quotas of a policy file and of the settings. They never change: a reload makes new rules. */
export class QuotaRules implements QuotaSource {
  private readonly rules: readonly CompiledRule[];

  /** `defaults` hold for every caller, after all rules. */
  constructor(rules: readonly QuotaRule[], defaults: Quotas) {
    this.rules = [...rules, defaults].map(({ identities, ...quotas }: QuotaRule) => ({
      quotas,
      globs: identities?.map((glob) => identityGlob(glob)),
    }));
  }

  /** For each quota, the first rule decides that matches the identity and has the quota. */
  quotasOf(identity: string): Quotas {
    const found: Partial<Record<QuotaName, number | undefined>> = {};
    for (const { globs, quotas } of this.rules) {
      if (globs !== undefined && !globs.some((matches) => matches(identity))) continue;
      for (const name of QUOTA_NAMES) found[name] ??= quotas[name];
    }
    return found;
  }
}
