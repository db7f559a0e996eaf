import {
  create,
  createFileRegistry,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type ConnectOptions, UnavailableError } from '../../clients/typescript';
import { timeoutOf } from '../../clients/typescript/calls/call-options';
import { addressList } from '../../clients/typescript/connection/addresses';
import { channelCredentials, channelOptions } from '../../clients/typescript/connection/tls';
import { tokenSource } from '../../clients/typescript/connection/token';
import { refuseTokenWithoutTls } from '../../clients/typescript/connection/transport-security';
import { errorOfCall } from '../../clients/typescript/errors';
import {
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionService,
} from '../../generated/typescript/grpc/reflection/v1/reflection';
import { Output } from './output';
import { CliError, EXIT, type Terminal, timeOfDayMs, UsageError } from './terminal';

/** A connection to one server for calls that only the server describes. */
export interface ServerChannel {
  readonly client: Client;
  readonly metadata: Metadata;
}

/**
 * Connects to the first address that answers within its share of the time. Close the client at the end. Rejects with an
 * UnavailableError if no server answers.
 */
export async function openChannel(addresses: string, options: ConnectOptions): Promise<ServerChannel> {
  const list = addressList(addresses);
  if (options.token !== undefined && options.tls === undefined) refuseTokenWithoutTls(list);
  const metadata = new Metadata();
  const bearer = await tokenSource(options.token)?.();
  if (bearer) metadata.set('authorization', `Bearer ${bearer.token}`);
  const shareMs = timeoutOf(options) / list.length;
  let problem = '';
  for (const address of list) {
    const client = new Client(address, channelCredentials(options.tls), channelOptions(options.tls));
    try {
      await ready(client, shareMs);
      return { client, metadata };
    } catch (error) {
      client.close();
      problem = `${address}: ${(error as Error).message}`;
    }
  }
  throw new UnavailableError(`no server answered in time: ${problem}`, { reason: 'NO_ANSWER', code: 14 });
}

function ready(client: Client, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // grpc-js takes a deadline as a time of day.
    client.waitForReady(timeOfDayMs() + timeoutMs, (error) => (error ? reject(error) : resolve()));
  });
}

export interface DescribedMethod {
  readonly method: DescMethod;
  /** "/holdfast.v1.LockService/GetLock". */
  readonly path: string;
  /** All messages of the service, for the JSON form of `Any`. */
  readonly registry: FileRegistry;
}

const OWN_PACKAGE = 'holdfast.v1.';

/**
 * The method as the server describes it over reflection. Rejects with a UsageError for an unknown service or method, and
 * names the known ones.
 *
 * @param name "LockService/GetLock" or "holdfast.v1.LockService/GetLock"
 */
export async function describedMethod(channel: ServerChannel, name: string): Promise<DescribedMethod> {
  const [, given = '', methodName = ''] = /^\/?([\w.]+)\/(\w+)$/.exec(name) ?? [];
  if (given === '') throw new UsageError(`"${name}" must be SERVICE/METHOD, for example LockService/GetLock`);
  const serviceName = given.includes('.') ? given : OWN_PACKAGE + given;
  const registry = await filesOf(channel, serviceName);
  const service = registry.getService(serviceName);
  const method = service?.methods.find((one) => one.name === methodName);
  if (method === undefined) {
    const known = service?.methods.map((one) => one.name).join(', ');
    throw new UsageError(`the service ${serviceName} has no method "${methodName}", but ${known}`);
  }
  return { method, path: `/${serviceName}/${methodName}`, registry };
}

async function filesOf(channel: ServerChannel, serviceName: string): Promise<FileRegistry> {
  const answer = await ask(channel, { $case: 'fileContainingSymbol', value: serviceName });
  if (answer?.$case !== 'fileDescriptorResponse')
    throw new UsageError(await unknownService(channel, serviceName));
  const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  return createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(files) }));
}

/** The registry takes a file after its imports. */
function importsFirst(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const ordered = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto): void => {
    byName.delete(file.name);
    for (const name of file.dependency) {
      const imported = byName.get(name);
      if (imported) add(imported);
    }
    ordered.add(file);
  };
  for (const file of files) if (byName.has(file.name)) add(file);
  return [...ordered];
}

async function unknownService(channel: ServerChannel, serviceName: string): Promise<string> {
  const answer = await ask(channel, { $case: 'listServices', value: '' });
  const services = answer?.$case === 'listServicesResponse' ? answer.value.service : [];
  return `the server has no service "${serviceName}", but ${services.map(({ name }) => name).join(', ')}`;
}

const ANSWER_MS = 10_000;

function ask(
  { client, metadata }: ServerChannel,
  messageRequest: NonNullable<ServerReflectionRequest['messageRequest']>,
): Promise<ServerReflectionResponse['messageResponse']> {
  const { path, requestSerialize, responseDeserialize } = ServerReflectionService.serverReflectionInfo;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
  const timer = setTimeout(() => stream.cancel(), ANSWER_MS);
  return new Promise<ServerReflectionResponse['messageResponse']>((resolve, reject) => {
    stream.on('data', (answer: ServerReflectionResponse) => resolve(answer.messageResponse));
    stream.on('error', (error: ServiceError) => reject(reflectionError(error)));
    stream.on('end', () => resolve(undefined));
    stream.write({ host: '', messageRequest });
    stream.end();
  }).finally(() => clearTimeout(timer));
}

function reflectionError(error: ServiceError): Error {
  if (error.code === status.UNIMPLEMENTED)
    return new CliError('the server describes no calls: it has no reflection');
  if (error.code === status.CANCELLED) {
    return new CliError(`the server has not described the call within ${ANSWER_MS} ms`, EXIT.unreachable);
  }
  return errorOfCall(error);
}

/** Sends the request in the JSON form of protobuf, and prints each answer. */
export async function call(
  terminal: Terminal,
  { client, metadata }: ServerChannel,
  { method, path, registry }: DescribedMethod,
  json: string,
  { output: format, deadline }: { readonly output: 'json' | 'jsonl'; readonly deadline?: number },
): Promise<void> {
  if (method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming') {
    throw new UsageError(`${path.slice(1)} takes several requests; this command sends one`);
  }
  const output = new Output(terminal, format);
  const request = requestOf(json, method, registry);
  const options = deadline === undefined ? {} : { deadline: timeOfDayMs() + deadline };
  // A unary call is a stream with one answer.
  const stream = client.makeServerStreamRequest(
    path,
    (message: Message) => Buffer.from(toBinary(method.input, message)),
    (bytes: Buffer) => fromBinary(method.output, bytes),
    request,
    metadata,
    options,
  );
  const cancel = () => stream.cancel();
  terminal.interrupted.addEventListener('abort', cancel);
  try {
    for await (const message of stream) {
      await output.one(toJson(method.output, message as Message, { registry }), () => []);
    }
  } catch (error) {
    terminal.interrupted.throwIfAborted();
    throw errorOfCall(error as ServiceError);
  } finally {
    terminal.interrupted.removeEventListener('abort', cancel);
  }
}

function requestOf(
  json: string,
  { input }: DescribedMethod['method'],
  registry: DescribedMethod['registry'],
): Message {
  try {
    return fromJson(input, JSON.parse(json) as JsonValue, { registry });
  } catch (error) {
    throw new UsageError(`the request is no ${input.typeName} in JSON: ${(error as Error).message}`);
  }
}
