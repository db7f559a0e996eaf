import {
  type CountedQuota,
  QUOTA_NAMES,
  type QuotaName,
  type Quotas,
  type QuotaSource,
  SharedUse,
  type SharedUses,
} from '../base/accounts';
import { BoundedCache } from '../flow/bounded-lists';
import { identityGlob, type IdentityGlob } from './identity';
import { AllowedPlaces, PrefixTable } from './prefixes';

/** The verbs of a policy. The numbers of `none` and of the verbs are those of holdfast.v1.Verb. */
export const VERBS = ['read', 'use', 'limit', 'revoke', 'import', 'admin'] as const;
export type Verb = (typeof VERBS)[number];

/**
 * The services of a policy, by their names in the contract. There are no rules for SessionService: each command of a
 * session needs a permission in LockService or SemaphoreService.
 */
export const SERVICES = ['LockService', 'SemaphoreService', 'AutocompleteService', 'ServerService'] as const;

export interface PolicyRule {
  /** Globs of identities. `*` stops at `/`. */
  readonly identities: readonly string[];
  readonly services: readonly string[];
  /** Prefixes of names. The empty prefix is the beginning of every name. */
  readonly names: readonly string[];
  /** Empty: nothing is allowed. */
  readonly allow: readonly Verb[];
  /** The longest ttl of the leases that this rule allows, such as "30s". Undefined: that of the server. */
  readonly max_ttl?: string | undefined;
}

const MS_OF_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The span of a `max_ttl` (ms). Undefined: the text is no such span. */
export function readMaxTtl(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
  const ms = Number(amount) * (MS_OF_UNIT[unit] ?? NaN);
  return ms >= 100 && ms <= 86_400_000 ? ms : undefined;
}

/** The bound of several rules that allow the same: the longest, because what they allow unites. */
function unitedMaxTtl(rules: readonly Pick<PolicyRule, 'max_ttl'>[]): string | undefined {
  return rules.map(({ max_ttl }) => max_ttl).reduce((one, other) => (msOf(one) >= msOf(other) ? one : other));
}

function msOf(maxTtl: string | undefined): number {
  return (maxTtl === undefined ? undefined : readMaxTtl(maxTtl)) ?? Infinity;
}

/** The identities with compiled rules. Other identities are compiled again at their next call. */
const MAX_IDENTITIES = 10_000;

/** One bit for each verb. */
type VerbSet = number;
const NOTHING: VerbSet = 0;

function bitOf(verb: Verb): VerbSet {
  return 1 << VERBS.indexOf(verb);
}

const BITS = Object.fromEntries(VERBS.map((verb) => [verb, bitOf(verb)])) as Readonly<Record<Verb, VerbSet>>;

function has(verbs: VerbSet, verb: Verb): boolean {
  return (verbs & BITS[verb]) !== 0;
}

/** The permissions of one identity. */
export class Permissions {
  private readonly readable = new Map<string, AllowedPlaces>();

  /** @param ttlTables only of services whose rules bound the ttl, with the prefixes of `tables` */
  constructor(
    private readonly tables: ReadonlyMap<string, PrefixTable>,
    private readonly ttlTables: ReadonlyMap<string, PrefixTable>,
  ) {}

  /** The longest prefix of the name decides. A name without a prefix in the rules is denied. */
  allows(service: string, verb: Verb, name: string): boolean {
    return has(this.tables.get(service)?.find(name) ?? NOTHING, verb);
  }

  /** The longest ttl that the rules with `use` allow for the name (ms). Undefined: the rules have no bound. */
  maxTtlMs(service: string, name: string): number | undefined {
    const bound = this.ttlTables.get(service)?.find(name) ?? NO_PREFIX;
    return bound > 0 && bound < Infinity ? bound : undefined;
  }

  /** Whether any name of the service may be allowed. */
  allowsSome(service: string, verb: Verb): boolean {
    return this.tables.get(service)?.some((verbs) => has(verbs, verb)) ?? false;
  }

  /** For a name that may not be read: a place before the next names that may be read. Undefined: no such names follow. */
  nextReadable(service: string, name: string): string | undefined {
    let places = this.readable.get(service);
    if (places === undefined) this.readable.set(service, (places = this.readablePlaces(service)));
    return places.next(name);
  }

  private readablePlaces(service: string): AllowedPlaces {
    const entries = [...(this.tables.get(service)?.entries() ?? [])];
    return new AllowedPlaces(
      entries.map(({ prefix, value, around }) => ({
        prefix,
        isAllowed: has(value, 'read'),
        isAllowedAround: has(around, 'read'),
      })),
    );
  }
}

interface CompiledRule {
  readonly services: readonly string[];
  readonly names: readonly string[];
  readonly verbs: VerbSet;
  /** Infinity: no bound. */
  readonly maxTtlMs: number;
}

/** The bound of a name without a prefix in the rules. */
const NO_PREFIX = 0;
/** The bound of a prefix in rules without `use` only, which allow no lease at all. */
const NO_USE = -1;

/** What the rules say of one service, by prefix. */
interface ServiceRules {
  readonly verbs: Map<string, VerbSet>;
  readonly maxTtls: Map<string, number>;
  hasMaxTtl: boolean;
}

/** The rules of a policy file. They never change: a reload makes a new policy. */
export class Policy {
  /** The rules of each glob, so that a glob of many rules is matched once. */
  private readonly globs: readonly (readonly [IdentityGlob, readonly CompiledRule[]])[];
  private readonly known = new BoundedCache<Permissions>(MAX_IDENTITIES);

  constructor(rules: readonly PolicyRule[]) {
    const rulesOfGlob = new Map<string, CompiledRule[]>();
    for (const { identities, services, names, allow, max_ttl } of rules) {
      const verbs = allow.reduce((set, verb) => set | bitOf(verb), NOTHING);
      const compiled = { services, names, verbs, maxTtlMs: msOf(max_ttl) };
      for (const glob of identities) {
        const known = rulesOfGlob.get(glob);
        if (known === undefined) rulesOfGlob.set(glob, [compiled]);
        else known.push(compiled);
      }
    }
    this.globs = [...rulesOfGlob].map(([glob, compiled]) => [identityGlob(glob), compiled]);
  }

  /** The permissions of an identity by all rules with a glob that matches. The permissions of equal prefixes unite. */
  permissionsOf(identity: string): Permissions {
    const known = this.known.get(identity);
    if (known !== undefined) return known;
    const permissions = this.compile(identity);
    this.known.set(identity, permissions);
    return permissions;
  }

  private compile(identity: string): Permissions {
    const services = new Map<string, ServiceRules>();
    for (const [matches, rules] of this.globs) {
      if (!matches(identity)) continue;
      for (const rule of rules) unite(services, rule);
    }
    const found = [...services];
    return new Permissions(
      new Map(found.map(([service, { verbs }]) => [service, new PrefixTable(verbs, NOTHING)])),
      new Map(
        found
          .filter(([, { hasMaxTtl }]) => hasMaxTtl)
          .map(([service, { maxTtls }]) => [service, new PrefixTable(maxTtls, NO_PREFIX)]),
      ),
    );
  }
}

function unite(found: Map<string, ServiceRules>, { services, names, verbs, maxTtlMs }: CompiledRule): void {
  const allowsUse = has(verbs, 'use');
  for (const service of services) {
    let rules = found.get(service);
    if (rules === undefined) {
      rules = { verbs: new Map(), maxTtls: new Map(), hasMaxTtl: false };
      found.set(service, rules);
    }
    for (const name of names) {
      rules.verbs.set(name, (rules.verbs.get(name) ?? NOTHING) | verbs);
      // A prefix without `use` has a value too, because only the longest prefix of a name counts.
      const known = rules.maxTtls.get(name) ?? NO_USE;
      rules.maxTtls.set(name, Math.max(known, allowsUse ? maxTtlMs : NO_USE));
    }
    rules.hasMaxTtl ||= allowsUse && maxTtlMs < Infinity;
  }
}

/** One item of the key `quotas` of a policy file. */
export interface QuotaRule extends Quotas {
  /** Globs of identities. Undefined: every identity. */
  readonly identities?: readonly string[] | undefined;
  /** 'together': all identities that the item matches share its quotas. Default: each identity has them alone. */
  readonly count?: 'each' | 'together' | undefined;
}

interface CompiledQuota {
  readonly quotas: Quotas;
  readonly globs: readonly IdentityGlob[] | undefined;
  /** The use by all identities of the item. Undefined: each identity has the quotas alone. */
  readonly uses: SharedUses | undefined;
}

/** The quotas of a policy file and of the settings. They never change: a reload makes new rules. */
export class QuotaRules implements QuotaSource {
  private readonly rules: readonly CompiledQuota[];

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
  private deciding(identity: string): ReadonlyMap<QuotaName, CompiledQuota> {
    const found = new Map<QuotaName, CompiledQuota>();
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

export interface PolicyQuestion {
  readonly identity: string;
  readonly verb: Verb;
  readonly service: string;
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
