import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import {
  FileDescriptorSetSchema,
  type MethodDescriptorProto,
  type ServiceDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { PutEntriesRequest } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AuditLog } from '../../src/access/audit';
import { Authorization, CheckedRights, type NameChecks } from '../../src/access/authorization';
import { Policy } from '../../src/access/policy';
import { systemClock } from '../../src/base/clock';
import type { HoldfastError } from '../../src/base/errors';
import { defaultLimits } from '../../src/leases/lease';
import { anyLeaseId } from '../../src/leases/lease-id';
import { type LockRows, type SemaphoreRows } from '../../src/leases/service/lease-services';
import { SessionCommands } from '../../src/leases/service/session-commands';
import { UndecodedMessage } from '../../src/rpc/decoding';
import { MAX_REQUEST_BYTES } from '../../src/rpc/entry/intake';
import {
  type HandledCall,
  type OfferedCall,
  type KnownRow,
  type OfferedService,
} from '../../src/rpc/service';
import { NO_LOG } from '../support/fake-call';
import { ROOT } from '../support/root';
import { Samples, type Sample } from './call-samples';
import { Harness } from './harness';

/**
 * What the house knows about each call, in call-table.txt: its verb, the names that need the verb, who goes first, what no
 * quota refuses, what is audited, and how long a request may be. A new call fails here until its lines are in the table.
 * `WRITE_CALL_TABLE=1 npx jest --config test/jest.config.cjs contract/call-table` writes the table; then review it.
 */

const FILE = join(ROOT, 'test/contract/call-table.txt');
const DESCRIPTORS = readFileSync(join(ROOT, 'generated', 'descriptor.binpb'));
const SET = fromBinary(FileDescriptorSetSchema, DESCRIPTORS);

let calls: ReadonlyMap<string, OfferedCall>;
let leaseServices: readonly OfferedService[];
beforeAll(async () => {
  const harness = await Harness.start();
  calls = harness.offered;
  leaseServices = harness.leases.services;
  await harness.close();
});

/** The requests that the server decodes later, as the checks get them. */
const UNDECODED: Readonly<Record<string, (value: never) => unknown>> = {
  PutEntries: (value: PutEntriesRequest) =>
    new UndecodedMessage(Buffer.from(PutEntriesRequest.encode(value).finish())),
};

/** The names of a request, with the verbs that they need. */
function namesOf({ rule }: OfferedCall, request: unknown): string {
  if (rule === undefined) return 'none';
  const { verb, names } = rule;
  const needed: string[] = [];
  const caller: NameChecks = {
    require: (name) => void needed.push(`${verb} ${JSON.stringify(name)}`),
    requireVerb: (other, name) => void needed.push(`${other} ${JSON.stringify(name)}`),
    requireAgain: () => void needed.push('the names of the message before'),
  };
  names(request as never, caller);
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

function lines(title: string, values: readonly string[]): string {
  return values.map((line, index) => `  ${(index === 0 ? title : '').padEnd(6)} ${line}\n`).join('');
}

function linesOf(
  packageName: string,
  service: ServiceDescriptorProto,
  method: MethodDescriptorProto,
): string {
  const path = `/${packageName}.${service.name}/${method.name}`;
  const call = calls.get(path);
  if (call === undefined) throw new Error(`no service offers ${path}`);
  const marks = [
    call.unary ? 'unary' : 'stream',
    ...(call.isProbe === true ? ['probe'] : []),
    ...(call.isOpen === true ? ['needs no credential'] : []),
    ...(call.bytes !== undefined ? ['proven before its request'] : []),
  ];
  const row = call.row as KnownRow;
  const samples = new Samples(SET, service.name === 'SemaphoreService' ? 'semaphore' : 'lock').of(
    method.inputType,
  );
  const undecoded = UNDECODED[method.name];
  if (undecoded !== undefined) {
    samples.push({ label: 'undecoded', value: undecoded(samples[0]?.value as never) });
  }
  const keeps = (request: unknown): string => (row.keepsLease?.(request as never) ? 'a lease' : 'no lease');
  const act = (request: unknown): string => JSON.stringify(row.audit?.(request as never), bigints) ?? 'none';
  return [
    `${packageName}.${service.name}/${method.name}\n`,
    lines('call', [marks.join(', ')]),
    lines('verb', [call.rule?.verb ?? 'none, for everybody']),
    lines('load', [call.priority]),
    lines('bytes', [String(call.bytes ?? MAX_REQUEST_BYTES)]),
    ...(call.rule === undefined
      ? []
      : [
          lines(
            'names',
            differing(samples, (request) => namesOf(call, request)),
          ),
          lines('keeps', differing(samples, keeps)),
          lines('audit', differing(samples, act)),
        ]),
  ].join('');
}

function bigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

/** What a caller without any right is told about each command of a session. */
function commandLines(): string[] {
  const [locks, semaphores] = leaseServices as [LockRows, SemaphoreRows];
  const commands = new SessionCommands(defaultLimits, locks, semaphores);
  const nobody = { identity: 'nobody', peer: '', method: '' };
  const authorization = new Authorization(new Policy([]));
  const audit = new AuditLog(NO_LOG, systemClock);
  const rightsFor: HandledCall['rightsFor'] = (row, named) => {
    const { rule } = [...calls.values()].find((call) => call.row === row)!;
    return new CheckedRights(nobody, authorization, audit, rule!, named);
  };
  const call = { rightsFor, takeCommand: () => undefined };
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
    const refusals = differing(commands.slice(1), (command) => refusal(command, leaseId));
    return refusals.map((line) => `  ${line}, of a ${service}\n`);
  });
}

function table(): string {
  const rows = SET.file.flatMap((file) =>
    file.service.flatMap((service) => service.method.map((method) => linesOf(file.package, service, method))),
  );
  return [...rows, `Commands of a session need\n${commandLines().join('')}`].join('\n');
}

test('each call of the contract is offered, and has the verb, names, load, quota rule, audit line and size of call-table.txt', () => {
  const made = table();
  if (process.env['WRITE_CALL_TABLE'] === '1') writeFileSync(FILE, made);
  expect(made).toBe(readFileSync(FILE, 'utf8'));
});
