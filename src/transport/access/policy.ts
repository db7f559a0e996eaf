import { AllowedPlaces } from './allowed-places';
import { BoundedCache } from './bounded-cache';
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

  constructor(private readonly tables: ReadonlyMap<CalledService, PrefixTable>) {}

  /** The longest prefix of the name decides. A name without a prefix in the rules is denied. */
  allows(service: CalledService, verb: Verb, name: string): boolean {
    return has(this.tables.get(service)?.find(name) ?? NOTHING, verb);
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
}

/** The rules of a policy file. They never change: a reload makes a new policy. */
export class Policy {
  /** The rules of each glob, so that a glob of many rules is matched once. */
  private readonly globs: readonly (readonly [IdentityGlob, readonly CompiledRule[]])[];
  private readonly known = new BoundedCache<Permissions>(MAX_IDENTITIES);

  constructor(rules: readonly PolicyRule[]) {
    const rulesOfGlob = new Map<string, CompiledRule[]>();
    for (const { identities, services, names, allow } of rules) {
      const verbs = allow.reduce((set, verb) => set | bitOf(verb), NOTHING);
      for (const glob of identities) {
        const known = rulesOfGlob.get(glob);
        if (known === undefined) rulesOfGlob.set(glob, [{ services, names, verbs }]);
        else known.push({ services, names, verbs });
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
    const verbs = new Map<ServiceName, Map<string, VerbSet>>();
    for (const [matches, rules] of this.globs) {
      if (!matches(identity)) continue;
      for (const rule of rules) unite(verbs, rule);
    }
    return new Permissions(
      new Map([...verbs].map(([service, values]) => [service, new PrefixTable(values, NOTHING)])),
    );
  }
}

function unite(
  verbsOf: Map<ServiceName, Map<string, VerbSet>>,
  { services, names, verbs }: CompiledRule,
): void {
  for (const service of services) {
    let values = verbsOf.get(service);
    if (values === undefined) verbsOf.set(service, (values = new Map()));
    for (const name of names) values.set(name, (values.get(name) ?? NOTHING) | verbs);
  }
}
