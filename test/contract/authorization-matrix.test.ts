import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceError, status } from '@grpc/grpc-js';
import { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AcquireLockRequest, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  SemaphoreServiceService,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import {
  SessionServiceService,
  type SessionCommand,
} from '../../generated/typescript/holdfast/v1/session_service';
import { encodeLeaseId } from '../../src/leases/lease-id';
import { SERVICES, VERBS, type Verb } from '../../src/access/policy';
import { describedCalls, type DescribedCall, describedFiles } from '../../src/access/verbs';
import { eventually } from '../support/eventually';
import { ROOT } from '../support/root';
import { batch, commit, entry, entries, suggestRequest } from './autocomplete-calls';
import { UUID_V4, type Harness } from './harness';
import { makeCall, type Method } from './policy-harness';
import { callSession } from './session-calls';
import { identityOf, startWithEveryWayIn, type ProvenCaller } from './ways-in';

/**
 * Every call of the contract with every kind of request, by a caller with each verb, for allowed and foreign names, and by every
 * way in. Exactly the allowed calls reach an engine.
 */

type Command = NonNullable<SessionCommand['command']>;

const CALLS = describedCalls(describedFiles(readFileSync(join(ROOT, 'generated/descriptor.binpb'))));

const DEFINITIONS: Readonly<Record<string, unknown>> = {
  LockService: LockServiceService,
  SemaphoreService: SemaphoreServiceService,
  AutocompleteService: AutocompleteServiceService,
  ServerService: ServerServiceService,
  SessionService: SessionServiceService,
};

function methodOf({ service, method }: DescribedCall): Method {
  const definition = DEFINITIONS[service] as Readonly<Record<string, Method>>;
  return definition[method.charAt(0).toLowerCase() + method.slice(1)] as Method;
}

/** Each verb has a caller with this verb alone. Each caller has its rights by every way in, except `dns-alone`. */
const CALLERS = [
  ...VERBS.map((verb) => `only-${verb}`),
  ...['all', 'other-team', 'root', 'nobody', 'dns-alone'],
];
const NAMES = ['team-a/x', 'team-a/', 'team-ab/x', 'team-a', 'team-b/x', '*', 'TEAM-A/x', 'team-á/x'];
const [OWN_NAME, FOREIGN_NAME] = ['team-a/x', 'team-b/x'];
/**
 * A name is compared in one way for all verbs and all forms, so only these callers use the other names, and only the foreign
 * one with each form.
 */
const CALLERS_OF_OTHER_NAMES = ['all', 'other-team', 'root'];
/** After its proof a caller is its identity, so only these callers come by each other way, with one form of each call. */
const CALLERS_BY_OTHER_WAYS = ['all', 'other-team', 'dns-alone'];
/** Every caller makes this call by every way. */
const CALL_OF_ALL = 'AcquireLock';

const identitiesOf = (name: string) => Object.values(identityOf).map((identity) => identity(name));
const everywhere = { services: [...SERVICES], names: ['team-a/'] };
const RULES = [
  ...VERBS.map((verb) => ({ ...everywhere, identities: identitiesOf(`only-${verb}`), allow: [verb] })),
  { ...everywhere, identities: identitiesOf('all'), allow: [...VERBS] },
  { ...everywhere, identities: identitiesOf('other-team'), names: ['team-b/'], allow: [...VERBS] },
  { ...everywhere, identities: identitiesOf('root'), names: [''], allow: [...VERBS] },
  { ...everywhere, identities: [identityOf.dns('dns-alone')], allow: [...VERBS] },
];

/** Whether the policy allows a verb, in the words of the test. */
function has(caller: ProvenCaller, verb: Verb, name: string): boolean {
  if (caller.name === 'root') return true;
  if (caller.name === 'other-team') return name.startsWith('team-b/');
  if (!name.startsWith('team-a/')) return false;
  if (caller.name === 'dns-alone') return caller.way === 'dns';
  return caller.name === 'all' || caller.name === `only-${verb}`;
}

/** One form of a request, and the permissions that it needs. */
interface Form {
  readonly title: string;
  readonly messages: readonly object[];
  /** The commands of a session, in place of messages. */
  readonly commands?: readonly Command[];
  readonly needs: readonly (readonly [Verb, string])[];
  /** Default: an allowed call reaches an engine. */
  readonly reachesEngine?: boolean;
}

const OWN = 'team-a/own';

function leaseIdOf(service: string, name: string): string {
  const resource = { service: service === 'LockService' ? 'lock' : 'semaphore', name } as const;
  return encodeLeaseId({ resource, requestId: UUID_V4, secret: 'A'.repeat(22) });
}

/** The forms of a request that names `name`. */
function formsOf(call: DescribedCall, name: string): readonly Form[] {
  const verb = call.verb as Verb;
  const needs = [[verb, name]] as const;
  const good = requestOf(call, name);
  const simple = (title: string, fields: object): Form => ({
    title,
    messages: [{ ...good, ...fields }],
    needs,
  });
  switch (call.method) {
    case 'GetServerInfo':
      return [{ title: 'all', messages: [good], needs: [], reachesEngine: false }];
    case 'ListLocks':
    case 'ListSemaphores':
    case 'ListDictionaries':
      return [{ title: 'all', messages: [good], needs: [] }];
    case 'OpenSession':
      return sessionForms(name);
    case 'EndQuarantine':
      return [{ title: 'all', messages: [good], needs: [['admin', '']] }];
    case 'ListCallers':
      return [{ title: 'all', messages: [good], needs: [['admin', '']], reachesEngine: false }];
    case 'HoldLock':
    case 'HoldPermits': {
      const fields = { name, requestId: UUID_V4 };
      const value =
        call.service === 'LockService'
          ? AcquireLockRequest.create(fields)
          : AcquirePermitsRequest.create(fields);
      const acquire = { $case: 'acquire', value };
      const leaseId = { $case: 'leaseId', value: leaseIdOf(call.service, name) };
      return [simple('acquire', { start: acquire }), simple('attach', { start: leaseId })];
    }
    case 'DeleteSemaphore':
      return [
        simple('gentle', {}),
        { ...simple('force', { force: true }), needs: [...needs, ['admin', name]] },
      ];
    case 'PutEntries':
      return [simple('small', {}), simple('large', { entries: entries(300) })];
    case 'Suggest':
      return suggestForms(name, needs, (suggest) => suggest);
    case 'SuggestStream':
      return suggestForms(name, needs, (suggest) => ({ queryId: 1n, suggest }));
    case 'ImportDictionary': {
      const start = { part: { $case: 'start', value: { dictionary: name, profile: undefined } } };
      const parts = [start, { part: batch([entry()]) }, { part: commit(1) }];
      return [{ title: 'import', messages: parts, needs }];
    }
    default:
      return [simple('all', {})];
  }
}

/** A form for each command of a session, in LockService and SemaphoreService. */
function sessionForms(name: string): readonly Form[] {
  const form = (title: string, ...commands: readonly Command[]): Form => ({
    title,
    messages: [],
    commands,
    needs: [['use', name]],
  });
  const fields = { name, requestId: UUID_V4 };
  const lock = { $case: 'acquireLock', value: AcquireLockRequest.create(fields) } as const;
  const permits = { $case: 'acquirePermits', value: AcquirePermitsRequest.create(fields) } as const;
  const ofLease = ['LockService', 'SemaphoreService'].flatMap((service) => {
    const value = leaseIdOf(service, name);
    return [
      form(`attach in ${service}`, { $case: 'attach', value: { leaseId: value } }),
      form(`release in ${service}`, { $case: 'release', value: { lease: { $case: 'leaseId', value } } }),
    ];
  });
  const ofNumber = [lock, permits].flatMap((acquire) => [
    form(`release by number after ${acquire.$case}`, acquire, {
      $case: 'release',
      value: { lease: { $case: 'leaseNumber', value: 1n } },
    }),
    form(`update after ${acquire.$case}`, acquire, {
      $case: 'update',
      value: { leaseNumber: 1n, metadataUpdate: { entries: new Map([['a', 'b']]) } },
    }),
  ]);
  const cancel = form('cancel', { $case: 'cancel', value: { commandId: 9n } });
  return [
    form('acquire_lock', lock),
    form('acquire_permits', permits),
    ...ofLease,
    ...ofNumber,
    { ...cancel, needs: [], reachesEngine: false },
  ];
}

function suggestForms(
  name: string,
  needs: Form['needs'],
  wrap: (suggest: object) => object,
): readonly Form[] {
  const form = (title: string, dictionary: string, recentsList: string, more: Form['needs']): Form => ({
    title,
    messages: [wrap(suggestRequest({ dictionary, recentsList }))],
    needs: more,
  });
  return [
    form('without recents', name, '', needs),
    form('with recents', OWN, name, [['read', OWN], ...needs]),
    form('with own recents', name, OWN, [...needs, ['read', OWN]]),
  ];
}

function requestOf(call: DescribedCall, name: string): object {
  const request = methodOf(call).requestDeserialize(Buffer.alloc(0));
  const values: Readonly<Record<string, unknown>> = {
    name,
    dictionary: name,
    list: name,
    leaseId: leaseIdOf(call.service, name),
    limit: 1,
    text: 'New York',
    entryId: 'nyc',
    entries: [entry()],
    entryIds: ['nyc'],
    reason: 'a test',
    target: { $case: 'allHolders', value: true },
  };
  const known = Object.entries(values).filter(([field]) => field in request);
  return { ...request, ...Object.fromEntries(known) };
}

let harness: Harness;
let callers: readonly ProvenCaller[];
let engineCallCount = 0;

beforeAll(async () => {
  ({ harness, callers } = await startWithEveryWayIn(CALLERS, RULES));
  harness.store.onEndQuarantine = () => {
    engineCallCount += 1;
    return Promise.resolve(undefined);
  };
});
afterAll(() => harness.close());

function engineCalls(): number {
  const count = engineCallCount + harness.permits.calls.length + harness.autocomplete.calls.length;
  engineCallCount = 0;
  harness.permits.reset();
  harness.autocomplete.reset();
  return count;
}

/** The reason of a refusal, also of a refusal in a message. */
function reasonOf({ answers, error }: Awaited<ReturnType<typeof makeCall>>): string {
  if (error !== undefined) return String(error.metadata.get('holdfast-reason')[0] ?? error.details);
  return /NOT_ALLOWED/.test(
    JSON.stringify(answers, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value)),
  )
    ? 'NOT_ALLOWED'
    : 'OK';
}

interface Attempt {
  readonly call: DescribedCall;
  readonly form: Form;
  readonly caller: ProvenCaller;
  readonly name: string;
}

/** Makes a call. Returns what happened if it is not what the policy says: exactly an allowed call reaches an engine. */
async function againstPolicy({ call, form, caller, name }: Attempt): Promise<object | undefined> {
  const { title, messages, commands, needs, reachesEngine = true } = form;
  const { identity, client, metadata } = caller;
  engineCalls();
  const outcome = await (commands === undefined
    ? makeCall(client, methodOf(call), messages, metadata)
    : callSession(client, commands, metadata));
  const { error } = outcome;
  const isAllowed = needs.every(([verb, needed]) => has(caller, verb, needed));
  const reason = reasonOf(outcome);
  const count = engineCalls();
  const reached = { identity, title, name, isAllowed, reason, count, error };
  if (!isAllowed) {
    const isRefused = reason === 'NOT_ALLOWED' && count === 0;
    const saysWhy = error === undefined || saysWhatIsMissing(error, identity);
    return isRefused && saysWhy ? undefined : reached;
  }
  if (reason.includes('NOT_ALLOWED')) return reached;
  if (!reachesEngine || reason === 'NOT_IMPLEMENTED') return undefined;
  // Each command of a session is a call of the engine.
  const isServed = commands === undefined ? count > 0 : count > 0 && count === commands.length;
  return isServed ? undefined : reached;
}

function saysWhatIsMissing({ code, details }: ServiceError, identity: string): boolean {
  return code === status.PERMISSION_DENIED && details.includes(`${identity} does not have the permission "`);
}

/** Whether a caller makes a call with a form of its request and a name. */
function makes({ way, name: who }: ProvenCaller, { method }: DescribedCall, name: string, isFirst: boolean) {
  const isOrdinary = [OWN_NAME, FOREIGN_NAME].includes(name);
  if (method === CALL_OF_ALL) return way === 'token' || isOrdinary;
  if (way === 'token')
    return name === OWN_NAME || (CALLERS_OF_OTHER_NAMES.includes(who) && (isFirst || isOrdinary));
  return isFirst && name === OWN_NAME && CALLERS_BY_OTHER_WAYS.includes(who);
}

test('every call of the contract has a verb, and the tables of the server have every call', () => {
  expect(CALLS.length).toBeGreaterThan(30);
  expect(CALLS.filter(({ verb }) => verb === undefined)).toEqual([]);
});

test.each(CALLS.map((call) => [`${call.service}/${call.method}`, call] as const))(
  '%s reaches an engine exactly if the policy allows each of its names',
  async (_title, call) => {
    const wrong: unknown[] = [];
    for (const name of NAMES) {
      for (const [index, form] of formsOf(call, name).entries()) {
        for (const caller of callers.filter((one) => makes(one, call, name, index === 0))) {
          wrong.push(await againstPolicy({ call, form, caller, name }));
        }
      }
    }
    expect(wrong.length).toBeGreaterThan(NAMES.length);
    expect(wrong.filter((one) => one !== undefined)).toEqual([]);
  },
);

test('a refusal names the identity, the verb and the name, and nothing of the policy', async () => {
  const acquire = CALLS.find(({ method }) => method === 'AcquireLock') as DescribedCall;
  const { client, metadata } = callers.find(({ identity }) => identity === 'token:only-use') as ProvenCaller;
  const { error } = await makeCall(client, methodOf(acquire), [requestOf(acquire, 'team-b/x')], metadata);
  expect(error?.details).toBe(
    'token:only-use does not have the permission "use" for lock "team-b/x"; ask the operator for the permission [NOT_ALLOWED]',
  );
});

test('refused calls leave nothing behind', async () => {
  await eventually('the end of all calls', () => harness.openCalls === 0);
});
