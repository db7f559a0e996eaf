import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, createFileRegistry, fromBinary, getOption } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type FileDescriptorProto,
} from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import {
  ServerReflectionClient,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from '../../generated/typescript/grpc/reflection/v1/reflection';
import { ServerReflectionClient as ServerReflectionClientV1Alpha } from '../../generated/typescript/grpc/reflection/v1alpha/reflection';
import { describedCalls, describedFiles } from '../../src/access/verbs';
import { ROOT } from '../support/root';
import { eventually } from '../support/eventually';
import { expectSixteenStreams } from './bounded-streams';
import { frame, RawConnection } from './raw-call';
import { Harness } from './harness';

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.start();
});
afterAll(() => harness.close());

type Question = NonNullable<ServerReflectionRequest['messageRequest']>;

/** Sends all questions on one stream, as grpcurl and other tools do. */
async function ask(
  questions: readonly Question[],
  type: typeof ServerReflectionClient | typeof ServerReflectionClientV1Alpha = ServerReflectionClient,
): Promise<ServerReflectionResponse[]> {
  const stream = harness.client<ServerReflectionClient>(type).serverReflectionInfo();
  const answers: ServerReflectionResponse[] = [];
  for (const messageRequest of questions) stream.write({ host: 'h', messageRequest });
  stream.end();
  return new Promise((resolve, reject) => {
    stream.on('data', (answer: ServerReflectionResponse) => answers.push(answer));
    stream.on('error', reject);
    stream.on('end', () => resolve(answers));
  });
}

/** The files in an answer, decoded. */
function decodedFiles(answer: ServerReflectionResponse | undefined): FileDescriptorProto[] {
  const response = answer?.messageResponse;
  if (response?.$case !== 'fileDescriptorResponse') throw new Error(`no files: ${response?.$case}`);
  return response.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

/** The imports of each file in an answer, by file name. */
function filesIn(answer: ServerReflectionResponse | undefined): Map<string, string[]> {
  return new Map(decodedFiles(answer).map(({ name, dependency }) => [name, dependency]));
}

const LOCK_FILES = [
  'holdfast/v1/lock_service.proto',
  'google/protobuf/duration.proto',
  'google/protobuf/timestamp.proto',
  'holdfast/v1/access.proto',
  'holdfast/v1/lease.proto',
  'google/protobuf/descriptor.proto',
];

describe.each([
  ['v1', ServerReflectionClient],
  ['v1alpha', ServerReflectionClientV1Alpha],
] as const)('reflection %s', (_version, type) => {
  test('lists every service of the server', async () => {
    const [answer] = await ask([{ $case: 'listServices', value: '' }], type);
    expect(answer?.validHost).toBe('h');
    expect(answer?.originalRequest?.messageRequest).toEqual({ $case: 'listServices', value: '' });
    const response = answer?.messageResponse;
    const names = response?.$case === 'listServicesResponse' ? response.value.service : [];
    expect(names.map(({ name }) => name).sort()).toEqual([
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
      'holdfast.v1.AutocompleteService',
      'holdfast.v1.LockService',
      'holdfast.v1.SemaphoreService',
      'holdfast.v1.ServerService',
      'holdfast.v1.SessionService',
    ]);
  });

  test('answers with the file of a service, followed by all imports of the file', async () => {
    const [answer] = await ask([{ $case: 'fileContainingSymbol', value: 'holdfast.v1.LockService' }], type);
    expect([...filesIn(answer).keys()]).toEqual(LOCK_FILES);
  });
});

test.each([
  ['a service', 'holdfast.v1.LockService', 'holdfast/v1/lock_service.proto'],
  ['a method', 'holdfast.v1.LockService.HoldLock', 'holdfast/v1/lock_service.proto'],
  ['a message', 'holdfast.v1.Lease', 'holdfast/v1/lease.proto'],
  ['a field', 'holdfast.v1.Lease.lease_id', 'holdfast/v1/lease.proto'],
  ['a oneof', 'holdfast.v1.HoldEvent.event', 'holdfast/v1/lease.proto'],
  ['a nested message', 'holdfast.v1.Holder.MetadataEntry', 'holdfast/v1/lease.proto'],
  ['an enum', 'holdfast.v1.LossCause', 'holdfast/v1/lease.proto'],
  ['an enum value', 'holdfast.v1.LOSS_CAUSE_EXPIRED', 'holdfast/v1/lease.proto'],
  ['a nested enum', 'grpc.health.v1.HealthCheckResponse.ServingStatus', 'grpc/health/v1/health.proto'],
  ['a value of a nested enum', 'grpc.health.v1.HealthCheckResponse.SERVING', 'grpc/health/v1/health.proto'],
  ['an imported message', 'google.protobuf.Duration', 'google/protobuf/duration.proto'],
  ['a message in a file that nothing imports', 'holdfast.v1.ErrorReason', 'holdfast/v1/error_reason.proto'],
  ['the reflection service', 'grpc.reflection.v1.ServerReflection', 'grpc/reflection/v1/reflection.proto'],
])('reflection finds the file of %s', async (_title, value, file) => {
  const [answer] = await ask([{ $case: 'fileContainingSymbol', value }]);
  expect([...filesIn(answer).keys()][0]).toBe(file);
});

test('reflection answers with every import of every file', async () => {
  const [services] = await ask([{ $case: 'listServices', value: '' }]);
  const response = services?.messageResponse;
  const listed = response?.$case === 'listServicesResponse' ? response.value.service : [];
  for (const { name } of listed) {
    const [answer] = await ask([{ $case: 'fileContainingSymbol', value: name }]);
    const files = filesIn(answer);
    expect([...files.keys()]).toEqual(expect.arrayContaining([...files.values()].flat()));
  }
});

/** Adds a file after its imports. */
function link(name: string, files: readonly FileDescriptorProto[], linked = new Set<FileDescriptorProto>()) {
  const file = files.find((one) => one.name === name);
  if (file === undefined) throw new Error(`the answer lacks ${name}`);
  for (const imported of file.dependency) link(imported, files, linked);
  return linked.add(file);
}

/** The verb of each call of a service. All names come from the descriptors of one answer. */
function verbsIn(service: string, answer: ServerReflectionResponse | undefined) {
  const files = decodedFiles(answer);
  const file = [...link(files[0]!.name, files)];
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
  const option = registry.getExtension('holdfast.v1.required_verb');
  const verbs = registry.getEnum('holdfast.v1.Verb');
  const methods = registry.getService(service)?.methods ?? [];
  return methods.map((method) => {
    const verb = verbs?.value[getOption(method, option!) as number]?.name;
    return [`/${service}/${method.name}`, verb] as const;
  });
}

test('reflection shows the required_verb of every call of the contract', async () => {
  const calls = describedCalls(describedFiles(readFileSync(join(ROOT, 'generated/descriptor.binpb'))));
  const shown = new Map<string, string | undefined>();
  for (const service of new Set(calls.map((one) => `holdfast.v1.${one.service}`))) {
    const [answer] = await ask([{ $case: 'fileContainingSymbol', value: service }]);
    for (const [path, verb] of verbsIn(service, answer)) shown.set(path, verb);
  }
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(calls.map(({ path, verb }) => [path, `VERB_${verb?.toUpperCase()}`])),
  );
  expect(shown.get('/holdfast.v1.LockService/AcquireLock')).toBe('VERB_USE');
  expect(shown.get('/holdfast.v1.ServerService/GetServerInfo')).toBe('VERB_NONE');
});

test('reflection sends an imported file once per stream, and a requested file every time', async () => {
  const answers = await ask([
    { $case: 'fileByFilename', value: 'holdfast/v1/lock_service.proto' },
    { $case: 'fileByFilename', value: 'holdfast/v1/server_service.proto' },
    { $case: 'fileByFilename', value: 'google/protobuf/duration.proto' },
  ]);
  expect(answers.map((answer) => [...filesIn(answer).keys()])).toEqual([
    LOCK_FILES,
    ['holdfast/v1/server_service.proto', 'holdfast/v1/error_reason.proto'],
    ['google/protobuf/duration.proto'],
  ]);
});

test('reflection answers with an empty list for a message without extensions', async () => {
  const [answer] = await ask([{ $case: 'allExtensionNumbersOfType', value: 'holdfast.v1.Lease' }]);
  expect(answer?.messageResponse).toEqual({
    $case: 'allExtensionNumbersResponse',
    value: { baseTypeName: 'holdfast.v1.Lease', extensionNumber: [] },
  });
});

test.each<readonly [Question | undefined, status]>([
  [{ $case: 'fileByFilename', value: 'holdfast/v2/lock_service.proto' }, status.NOT_FOUND],
  [{ $case: 'fileByFilename', value: '__proto__' }, status.NOT_FOUND],
  [{ $case: 'fileContainingSymbol', value: 'holdfast.v1.Nothing' }, status.NOT_FOUND],
  [{ $case: 'fileContainingSymbol', value: 'constructor' }, status.NOT_FOUND],
  [
    { $case: 'fileContainingExtension', value: { containingType: 'holdfast.v1.Lease', extensionNumber: 1 } },
    status.NOT_FOUND,
  ],
  [{ $case: 'allExtensionNumbersOfType', value: 'holdfast.v1.Nothing' }, status.NOT_FOUND],
  [undefined, status.INVALID_ARGUMENT],
])('reflection answers %j with an error, and then answers the next question', async (question, errorCode) => {
  const [first, second] = await ask([question!, { $case: 'listServices', value: '' }]);
  expect(first?.messageResponse).toMatchObject({ $case: 'errorResponse', value: { errorCode } });
  expect(second?.messageResponse?.$case).toBe('listServicesResponse');
});

const REFLECT = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

test('one address has at most 16 open reflection streams, until one of them ends', () =>
  expectSixteenStreams(
    REFLECT,
    { halfClose: false },
    new RawConnection(harness.target),
    new RawConnection(harness.target, '127.0.0.2'),
  ));

test('idle reflection streams on many connections of one address keep no other address out', async () => {
  const connections = Array.from({ length: 5 }, () => new RawConnection(harness.target));
  const open = (connection: RawConnection) => {
    const stream = connection.open({ path: REFLECT });
    stream.write(frame(Buffer.alloc(0)));
    return stream;
  };
  const streams = connections.flatMap((connection) => Array.from({ length: 16 }, () => open(connection)));
  const refused = streams.map(({ outcome }) => outcome.then(({ reason }) => reason));
  const reasons: (string | undefined)[] = [];
  for (const one of refused) void one.then((reason) => reasons.push(reason));
  await eventually('the refusals', () => reasons.length === 64);
  expect(new Set(reasons)).toEqual(new Set(['QUOTA_EXCEEDED']));
  const elsewhere = new RawConnection(harness.target, '127.0.0.2');
  const other = open(elsewhere);
  await eventually('the answer to another address', () => other.receivedBytes > 0);
  for (const connection of [...connections, elsewhere]) connection.close();
});
