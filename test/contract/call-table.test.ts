import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorSetSchema,
  type MethodDescriptorProto,
  type ServiceDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { HealthService } from '../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionService as ReflectionV1 } from '../../generated/typescript/grpc/reflection/v1/reflection';
import { ServerReflectionService as ReflectionV1Alpha } from '../../generated/typescript/grpc/reflection/v1alpha/reflection';
import { PutEntriesRequest } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import { AuditLog } from '../../src/access/audit';
import { Authorization } from '../../src/access/authorization';
import { readCallRules, type CallRule } from '../../src/access/call-rules';
import type { NameChecks } from '../../src/access/named-resources';
import { Policy } from '../../src/access/policy';
import {
  AUTOCOMPLETE_REQUEST_BYTES,
  autocompleteServiceDefinition,
} from '../../src/autocomplete/service/autocomplete-services';
import { systemClock } from '../../src/base/clock';
import type { HoldfastError } from '../../src/base/errors';
import { defaultLimits } from '../../src/leases/lease';
import { anyLeaseId } from '../../src/leases/lease-id';
import { lockServiceDefinition, semaphoreServiceDefinition } from '../../src/leases/service/lease-services';
import { SessionCommands } from '../../src/leases/service/session-commands';
import {
  SESSION_REQUEST_BYTES,
  sessionServiceDefinition,
} from '../../src/leases/service/session-conversation';
import { callKinds } from '../../src/rpc/call-kinds';
import { UndecodedMessage } from '../../src/rpc/decoding';
import { MAX_REQUEST_BYTES } from '../../src/rpc/entry/intake';
import type { HandledCall } from '../../src/rpc/handlers';
import { NO_LOG } from '../support/fake-call';
import { ROOT } from '../support/root';
import { Samples, type Sample } from './call-samples';

/**
 * What the house knows about each call, in call-table.txt: its verb, the names that need the verb, who goes first, what no
 * quota refuses, what is audited, and how long a request may be. A new call fails here until its lines are in the table.
 * `WRITE_CALL_TABLE=1 npx jest --config test/jest.config.cjs contract/call-table` writes the table; then review it.
 */

const FILE = join(ROOT, 'test/contract/call-table.txt');
const DESCRIPTORS = readFileSync(join(ROOT, 'generated', 'descriptor.binpb'));
const SET = fromBinary(FileDescriptorSetSchema, DESCRIPTORS);

const SERVICES: readonly ServiceDefinition[] = [
  lockServiceDefinition,
  semaphoreServiceDefinition,
  sessionServiceDefinition,
  autocompleteServiceDefinition,
  ServerServiceService,
  HealthService,
  ReflectionV1,
  ReflectionV1Alpha,
];
const SIZES = new Map([...AUTOCOMPLETE_REQUEST_BYTES, ...SESSION_REQUEST_BYTES]);
const RULES = readCallRules(DESCRIPTORS);
const KIND_OF = callKinds(SERVICES, SIZES);

/** The requests that the server decodes later, as the checks get them. */
const UNDECODED: Readonly<Record<string, (value: never) => unknown>> = {
  PutEntries: (value: PutEntriesRequest) =>
    new UndecodedMessage(Buffer.from(PutEntriesRequest.encode(value).finish())),
};

/** The names of a request, with the verbs that they need. */
function namesOf({ verb, checkNames }: CallRule, request: unknown): string {
  const needed: string[] = [];
  const caller: NameChecks = {
    require: (name) => void needed.push(`${verb} ${JSON.stringify(name)}`),
    requireVerb: (other, name) => void needed.push(`${other} ${JSON.stringify(name)}`),
    may: () => true,
    requireAgain: () => void needed.push('the names of the message before'),
  };
  checkNames(request, caller);
  return needed.join(', ') || 'none';
}

/** What a check makes of the samples. A sample has a line if the check makes something else of it than of what it differs from. */
function differing(samples: readonly Sample[], read: (request: unknown) => string): string[] {
  const seen: (readonly [label: string, found: string])[] = [];
  return samples.flatMap(({ label, value }) => {
    const found = read(value);
    const [, usual = ''] = seen.findLast(([other]) => label.startsWith(other)) ?? [];
    const emptied = label.endsWith(' empty')
      ? usual.replaceAll(`<${label.slice(0, -' empty'.length)}>`, '')
      : usual;
    seen.push([label, found]);
    if (label === '') return [found];
    return found === emptied ? [] : [`${found}, with ${label}`];
  });
}

function row(title: string, lines: readonly string[]): string {
  return lines.map((line, index) => `  ${(index === 0 ? title : '').padEnd(6)} ${line}\n`).join('');
}

function linesOf(
  packageName: string,
  service: ServiceDescriptorProto,
  method: MethodDescriptorProto,
): string {
  const path = `/${packageName}.${service.name}/${method.name}`;
  const { priority, unary, isProbe, isOpen, isLarge } = KIND_OF(path);
  const marks = [
    unary ? 'unary' : 'stream',
    ...(isProbe === true ? ['probe'] : []),
    ...(isOpen === true ? ['needs no credential'] : []),
    ...(isLarge === true ? ['proven before its request'] : []),
  ];
  const rule = RULES.get(path);
  const samples = new Samples(SET, service.name === 'SemaphoreService' ? 'semaphore' : 'lock').of(
    method.inputType,
  );
  const undecoded = UNDECODED[method.name];
  if (undecoded !== undefined) {
    samples.push({ label: 'undecoded', value: undecoded(samples[0]?.value as never) });
  }
  const ofRule =
    rule &&
    row(
      'names',
      differing(samples, (request) => namesOf(rule, request)),
    ) +
      row(
        'keeps',
        differing(samples, (request) => (rule.keepsLease(request) ? 'a lease' : 'no lease')),
      ) +
      row(
        'audit',
        differing(samples, (request) => JSON.stringify(rule.actOf?.(request), bigints) ?? 'none'),
      );
  return [
    `${packageName}.${service.name}/${method.name}\n`,
    row('call', [marks.join(', ')]),
    row('verb', [rule?.verb ?? 'none, for everybody']),
    row('load', [priority]),
    row('bytes', [String(SIZES.get(path) ?? MAX_REQUEST_BYTES)]),
    ofRule ?? '',
  ].join('');
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

/** What a caller without any right is told about each command of a session. */
function commandLines(): string[] {
  const control = {
    rules: RULES,
    authorization: new Authorization(new Policy([])),
    accounts: undefined,
    audit: new AuditLog(NO_LOG, systemClock),
  };
  const commands = new SessionCommands({ clock: systemClock, log: NO_LOG, control }, defaultLimits);
  const call = { identity: 'nobody', peer: '', method: '', takeCommand: () => undefined };
  const defaults = { holderId: '', metadata: new Map<string, string>() };
  const refusal = (value: unknown, lease: string): string => {
    try {
      commands.check(value as never, call as unknown as HandledCall, defaults, {
        lease: () => anyLeaseId(lease),
      });
      return 'none';
    } catch (error) {
      const { reason, message } = error as HoldfastError;
      return reason === 'NOT_ALLOWED'
        ? message.replace(/^nobody does not have the permission (.*);.*$/, '$1')
        : reason;
    }
  };
  return (['lock', 'semaphore'] as const).flatMap((service) => {
    const samples = new Samples(SET, service);
    const { leaseId } = samples.of('.holdfast.v1.RenewLockRequest')[0]?.value as { leaseId: string };
    const commands = samples.of('.holdfast.v1.SessionCommand');
    const lines = differing(commands.slice(1), (command) => refusal(command, leaseId));
    return lines.map((line) => `  ${line}, of a ${service}\n`);
  });
}

function table(): string {
  const calls = SET.file.flatMap((file) =>
    file.service.flatMap((service) => service.method.map((method) => linesOf(file.package, service, method))),
  );
  return [...calls, `Commands of a session need\n${commandLines().join('')}`].join('\n');
}

test('each call has the verb, names, load, quota rule, audit line and size of call-table.txt', () => {
  const made = table();
  if (process.env['WRITE_CALL_TABLE'] === '1') writeFileSync(FILE, made);
  expect(made).toBe(readFileSync(FILE, 'utf8'));
});
