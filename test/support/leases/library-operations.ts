import fc from 'fast-check';
import { LOCK_LIMIT, type Resource, type Service } from '../../../src/leases/lease';
import { leaseKeys, namesKeys } from '../../../src/leases/redis/lease-keys';
import { bucketOf, EPOCH_AT, LEASE_LAYOUT } from '../../../src/redis/buckets';
import type { Entry } from '../../../src/redis/script';
import { PREFIX } from './lease-server';

// Random operations of leases, as the arguments of a script or a function. The random commands of lease-commands.ts go through
// a store, which sends each operation alone.

/** A time of an earlier command, and so many microseconds more. */
interface Ago {
  readonly commands: number;
  readonly us: number;
}
type Argument = string | number | Ago;

export interface DrawnOperation {
  /** The name in the library. */
  readonly name: string;
  readonly state: string;
  /** The place among the epochs of a command. */
  readonly bucket: number;
  readonly args: readonly Argument[];
}

export interface DrawnCommand {
  readonly entry: Entry;
  /** How far the clock moves before the command (us). */
  readonly passUs: number;
  readonly server: string;
  readonly isLate: boolean;
  /** The texts of the epochs of both buckets. */
  readonly epochs: readonly (readonly Argument[])[];
  readonly operations: readonly DrawnOperation[];
}

/** The commands that one Redis carries out, beginning without data. */
export interface DrawnHistory {
  readonly retentionMs: number;
  /** Somebody has given the first lock's and the first semaphore's `live` another type, so that some operations fail. */
  readonly isEdited: boolean;
  readonly commands: readonly DrawnCommand[];
}

export const SERVERS = ['s1', 's2'] as const;

function nameBeside(first: string, isSame: boolean): string {
  for (let i = 1; ; i += 1) {
    if ((bucketOf(`${first}${i}`) === bucketOf(first)) === isSame) return `${first}${i}`;
  }
}

/** Two names of one bucket, and one of another. */
const NAMES = ['name', nameBeside('name', true), nameBeside('name', false)] as const;
const BUCKETS = [NAMES[0], NAMES[2]].map(bucketOf);
export const EPOCH_KEYS = [NAMES[0], NAMES[2]].map(
  (name) => leaseKeys(PREFIX, { service: 'lock', name })[EPOCH_AT],
);
/** The first name more often, so that most operations meet others. */
const resourceOf = (service: Service): fc.Arbitrary<Resource> =>
  fc.constantFrom(0, 0, 0, 1, 2).map((index) => ({ service, name: NAMES[index] }));
const stateOf = (resource: Resource): string => leaseKeys(PREFIX, resource)[0];
/** The keys that an edit of a history gives another type. */
export const EDITED_KEYS = (['lock', 'semaphore'] as const).map((service) =>
  stateOf({ service, name: NAMES[0] }).replace(':state:', ':live:'),
);

const uuid = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
const flag = fc.constantFrom('0', '1');
const SHOWN = 16;

/** In a text, in place of the id of the command's server. */
const SERVER = '@';

/** A call of a request. */
const call = fc
  .record({
    // Some requests more often, so that most renewals and releases find their lease.
    request: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3, 4, 5),
    number: fc.nat(1),
    holds: fc.constantFrom('', '', '', '', 's', '/a/1.2s', '/a/2.1s', '/b/1.1s'),
  })
  .map(({ request, number, holds }) => ({
    request,
    id: uuid(request),
    attach: `${SERVER}.${number}${holds}`,
    secret: `secret ${request}`,
  }));

const ttlUs = fc.constantFrom(500_000, 2_500_000, 5_000_000, 30_000_000, 30_000_000, 130_000_000);
const client = fc.constantFrom('', '', '', '', '', `${uuid(77)}alice`);
const identity = fc.constantFrom('', '', '', '', '', 'alice');
const secretGuess = fc.constantFrom('', '', '', '', '', '', '', 'guess');
const metadata = fc.constantFrom('', '', '{"a":"é"}');
/** A repeated request usually has the same permits and mode. */
const lockModes = [
  [LOCK_LIMIT, 'x'],
  [1, 's'],
] as const;
const semaphoreModes = [
  [1, 'x'],
  [2, 'x'],
  [1, 'x'],
  [3, 'x'],
  [6, 'x'],
] as const;
const shift = fc.constantFrom(0, 0, 0, 0, 0, 1);
const initialLimit = (service: Service) =>
  service === 'lock' ? fc.constant(LOCK_LIMIT) : fc.constantFrom('', 3, 5, 5, 20);
const ticket: fc.Arbitrary<Argument> = fc.record({ commands: fc.nat(20), us: fc.nat(2) });

/** The arguments that acquire and claim share. */
const wanted = (service: Service) =>
  fc
    .tuple(
      call,
      shift,
      fc.constantFrom('', '', '', '', '', '', '', '', '', 'holder'),
      metadata,
      ttlUs,
      client,
    )
    .map(([{ request, id, attach, secret }, moved, holder, shown, ttl, by]) => {
      const modes = service === 'lock' ? lockModes : semaphoreModes;
      const [permits, mode] = modes[(request + moved) % modes.length] as (typeof modes)[number];
      return [id, attach, secret, permits, mode, holder, shown, ttl, by];
    });

type Drawn = fc.Arbitrary<readonly Argument[]>;
const joined = (first: fc.Arbitrary<Argument[]>, ...others: fc.Arbitrary<Argument>[]): Drawn =>
  fc.tuple(first, fc.tuple(...others)).map(([some, more]) => [...some, ...more]);

/** The arguments of an operation on a resource of a service. */
interface OnResource {
  readonly entry: Entry;
  readonly weight: number;
  readonly args: (service: Service) => Drawn;
  /** Only semaphores have the operation. */
  readonly ofSemaphores?: boolean;
}

const revocation: Drawn = fc.oneof(
  fc.tuple(flag, fc.nat(6)).map(([force, token]) => ['token', force, token, '', '', '', 'first', '', '']),
  fc
    .tuple(flag, fc.nat(6), call)
    .map(([force, token, { id }]) => ['lease', force, token, id, '', '', 'first', '', '']),
  fc
    .tuple(
      flag,
      fc.constantFrom('', 1, 3, 9),
      fc.constantFrom('first', 'later', 'found'),
      ticket,
      call,
      fc.boolean(),
    )
    .map(([force, last, pass, end, { id }, begins]) => [
      ...['all', force, last, '', '', '', pass],
      ...(begins ? ['', ''] : [end, id]),
    ]),
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), fc.nat(20))
    .map(([place, commands]) => ['waiter', '0', '', '', place, { commands, us: 0 }, 'first', '', '']),
);

const onResource: Readonly<Record<string, OnResource>> = {
  acquire: {
    entry: 'grow',
    weight: 1,
    args: (service) =>
      joined(wanted(service), flag, flag, initialLimit(service), fc.constantFrom(2, 10_000, 10_000)),
  },
  claim: {
    entry: 'keep',
    weight: 5,
    args: (service) => joined(wanted(service), initialLimit(service), ticket),
  },
  withdraw: {
    entry: 'keep',
    weight: 3,
    args: () =>
      fc
        .tuple(call, fc.constantFrom('0', '1', '2'), fc.constantFrom('', '', 1, 2, 3, 4))
        .map(([{ id, attach }, back, token]) => [id, attach, back, token]),
  },
  touch: {
    entry: 'keep',
    weight: 4,
    args: () =>
      fc
        .oneof(
          { weight: 20, arbitrary: fc.array(call, { maxLength: 3 }) },
          { weight: 1, arbitrary: fc.constant(undefined) },
        )
        .map((calls) => [
          // The operation fails for a text that is no JSON.
          calls ? JSON.stringify(calls.flatMap(({ id, attach }) => [id, attach])) : '[',
        ]),
  },
  renew: {
    entry: 'keep',
    weight: 4,
    args: () =>
      fc
        .tuple(call, secretGuess, fc.option(ttlUs, { nil: 0 }), fc.boolean(), flag, identity, metadata)
        .map(([{ id, attach, secret }, guess, ttl, isOpen, takeOver, by, shown]) => [
          ...[id, guess || secret, ttl, isOpen ? '' : attach],
          ...[takeOver, by, shown],
        ]),
  },
  release: {
    entry: 'keep',
    weight: 5,
    args: () =>
      fc
        .tuple(call, secretGuess, fc.boolean(), identity)
        .map(([{ id, attach, secret }, guess, isOpen, by]) => [
          id,
          guess || secret,
          isOpen ? '' : attach,
          by,
        ]),
  },
  watch: { entry: 'keep', weight: 3, args: () => fc.constant([SHOWN, LEASE_LAYOUT]) },
  inspect: { entry: 'read', weight: 3, args: () => fc.constant([SHOWN, LEASE_LAYOUT]) },
  limit: {
    entry: 'keep',
    weight: 4,
    ofSemaphores: true,
    args: () =>
      fc
        .tuple(fc.constantFrom(1, 2, 4, 10, 'pause', 'resume'), fc.constantFrom('', '', 3, 5))
        .map(([wish, expected]) => [wish, expected, SHOWN]),
  },
  delete: {
    entry: 'keep',
    weight: 1,
    ofSemaphores: true,
    args: () => fc.tuple(flag, fc.nat(2)).map(([force, index]) => [force, uuid(900 + index)]),
  },
  revoke: { entry: 'keep', weight: 3, args: () => revocation },
};

/** The operations on an index of names. */
const onNames: Readonly<Record<string, { readonly entry: Entry; readonly args: Drawn }>> = {
  list: {
    entry: 'read',
    args: fc
      .tuple(
        fc.constantFrom('', '', NAMES[0]),
        fc.constantFrom('', '', ...NAMES),
        fc.constantFrom(1, 64),
        fc.constantFrom('', '', 'holder'),
        flag,
        identity,
      )
      .map(([prefix, after, most, holder, wantsViews, by]) => [
        ...[LEASE_LAYOUT, prefix, after, most, most, holder],
        ...[wantsViews, SHOWN, by],
      ]),
  },
  unlist: {
    entry: 'keep',
    args: fc.subarray([...NAMES], { minLength: 1 }).map((names) => [LEASE_LAYOUT, JSON.stringify(names)]),
  },
};

/** The names of all operations that are drawn. */
export const DRAWN_NAMES = [...Object.keys(onResource), ...Object.keys(onNames)];

function operationsOf(entry: Entry): fc.Arbitrary<DrawnOperation> {
  const ofResources = Object.entries(onResource)
    .filter(([, one]) => one.entry === entry)
    .flatMap(([name, { weight, args, ofSemaphores = false }]) =>
      (ofSemaphores ? (['semaphore'] as const) : (['lock', 'semaphore'] as const)).map((service) => ({
        weight,
        arbitrary: fc.tuple(resourceOf(service), args(service)).map(([resource, drawn]) => ({
          name,
          state: stateOf(resource),
          bucket: BUCKETS.indexOf(bucketOf(resource.name)),
          args: drawn,
        })),
      })),
    );
  const ofNames = Object.entries(onNames)
    .filter(([, one]) => one.entry === entry)
    .map(([name, { args }]) => ({
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom<Service>('lock', 'semaphore'), fc.nat(1), args)
        .map(([service, bucket, drawn]) => ({
          name,
          state: namesKeys(PREFIX, service, BUCKETS[bucket] as number)[0],
          bucket,
          args: drawn,
        })),
    }));
  return fc.oneof(...ofResources, ...ofNames);
}

/** The most operations of one command. */
const MOST_OPERATIONS = 8;
const MOST_COMMANDS = 60;

const EXPECTED_RUN = `L${LEASE_LAYOUT}:run`;
/** The epoch that servers expect. */
export const EXPECTED_EPOCH = `${EXPECTED_RUN} w 0 60000`;
const PAUSED: readonly Argument[] = [`${EXPECTED_RUN} w 0 60000 `, { commands: 0, us: -1_000_000 }, ' '];
const PAUSE_END: Argument = { commands: 0, us: 3_000_000 };
/** The parts of an epoch's text. Without parts, the bucket has no epoch. */
const epoch: fc.Arbitrary<readonly Argument[]> = fc.oneof(
  { weight: 20, arbitrary: fc.constant([EXPECTED_EPOCH]) },
  { weight: 1, arbitrary: fc.constantFrom([`L${LEASE_LAYOUT}:other w 0 60000`], []) },
  { weight: 1, arbitrary: fc.constant(['L9:run w 0 60000']) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('500000 clock', '0 restarted', '500000 restarted')
      .map((cause) => [...PAUSED, PAUSE_END, ` ${cause}`]),
  },
);

const second = 1_000_000;
const passUs = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(0, 0, 1, 1000, 400_000) },
  { weight: 4, arbitrary: fc.constantFrom(second, 2 * second, 3.1 * second, 4.5 * second, 11 * second) },
  { weight: 1, arbitrary: fc.constantFrom(61 * second, 130 * second, -50_000, -2 * second) },
);

const commandOf = (entry: Entry): fc.Arbitrary<DrawnCommand> =>
  fc.record({
    entry: fc.constant(entry),
    passUs,
    server: fc.constantFrom(...SERVERS),
    isLate: fc.nat(15).map((index) => index === 0),
    epochs: fc.tuple(epoch, epoch),
    operations: fc.array(operationsOf(entry), { minLength: 1, maxLength: MOST_OPERATIONS, size: 'max' }),
  });

export const history: fc.Arbitrary<DrawnHistory> = fc.record({
  retentionMs: fc.constantFrom(3_600_000, 1000),
  isEdited: fc.nat(5).map((index) => index === 0),
  commands: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: commandOf('grow') },
      { weight: 5, arbitrary: commandOf('keep') },
      { weight: 1, arbitrary: commandOf('read') },
    ),
    { minLength: 1, maxLength: MOST_COMMANDS, size: 'max' },
  ),
});

/** The text of an argument. `times` has the time of each command so far (us). */
export function textOf(argument: Argument, server: string, times: readonly number[]): string {
  if (typeof argument === 'string') return argument.replaceAll(SERVER, server);
  if (typeof argument === 'number') return String(argument);
  const time = times[Math.max(0, times.length - 1 - argument.commands)] ?? 0;
  return String(time + argument.us);
}
