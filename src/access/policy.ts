import { AllowedPlaces } from './allowed-places';
import { BoundedCache } from '../flow/bounded-cache';
import { identityGlob, type IdentityGlob } from './identity-glob';
import { PrefixTable } from './prefix-table';
import { VERBS, type CalledService, type ServiceName, type Verb } from './verbs';

export interface PolicyRule {
  /** Globs of identities. `*` stops at `/`. */
  readonly identities: readonly string[];
  readonly services: readonly ServiceName[];
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
export function unitedMaxTtl(rules: readonly Pick<PolicyRule, 'max_ttl'>[]): string | undefined {
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
  private readonly readable = new Map<CalledService, AllowedPlaces>();

  /** @param ttlTables only of services whose rules bound the ttl, with the prefixes of `tables` */
  constructor(
    private readonly tables: ReadonlyMap<CalledService, PrefixTable>,
    private readonly ttlTables: ReadonlyMap<CalledService, PrefixTable>,
  ) {}

  /** The longest prefix of the name decides. A name without a prefix in the rules is denied. */
  allows(service: CalledService, verb: Verb, name: string): boolean {
    return has(this.tables.get(service)?.find(name) ?? NOTHING, verb);
  }

  /** The longest ttl that the rules with `use` allow for the name (ms). Undefined: the rules have no bound. */
  maxTtlMs(service: CalledService, name: string): number | undefined {
    const bound = this.ttlTables.get(service)?.find(name) ?? NO_PREFIX;
    return bound > 0 && bound < Infinity ? bound : undefined;
  }

  /** Whether any name of the service may be allowed. */
  allowsSome(service: CalledService, verb: Verb): boolean {
    return this.tables.get(service)?.some((verbs) => has(verbs, verb)) ?? false;
  }

  /** For a name that may not be read: a place before the next names that may be read. Undefined: no such names follow. */
  nextReadable(service: CalledService, name: string): string | undefined {
    let places = this.readable.get(service);
    if (places === undefined) this.readable.set(service, (places = this.readablePlaces(service)));
    return places.next(name);
  }

  private readablePlaces(service: CalledService): AllowedPlaces {
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
  readonly services: readonly ServiceName[];
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
    const services = new Map<ServiceName, ServiceRules>();
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

function unite(
  found: Map<ServiceName, ServiceRules>,
  { services, names, verbs, maxTtlMs }: CompiledRule,
): void {
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
