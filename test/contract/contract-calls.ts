import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import {
  Client,
  Metadata,
  type ClientReadableStream,
  type ClientWritableStream,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { SemaphoreServiceService } from '../../generated/typescript/holdfast/v1/semaphore_service';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import { SessionServiceService } from '../../generated/typescript/holdfast/v1/session_service';
import { ROOT } from '../support/root';
import { commit, entry, start, suggestRequest } from './autocomplete-calls';
import { drainStream, failureOf, type Harness } from './harness';
import { leaseOf } from './services';
import { sessionWithLock } from './session-calls';

/** Every call of the contract, read from the descriptors. A new RPC needs valid values only for its new fields. */

type Method = MethodDefinition<object, object>;

const DEFINITIONS: Readonly<Record<string, unknown>> = {
  LockService: LockServiceService,
  SemaphoreService: SemaphoreServiceService,
  ServerService: ServerServiceService,
  AutocompleteService: AutocompleteServiceService,
  SessionService: SessionServiceService,
};

/** Valid values by field name. A request takes the values of its own fields. */
function goodValues(service: string): Readonly<Record<string, unknown>> {
  const { leaseId } = leaseOf(service === 'LockService' ? 'lock' : 'semaphore');
  return {
    name: 'hello',
    leaseId,
    start: { $case: 'leaseId', value: leaseId },
    limit: 1,
    target: { $case: 'allHolders', value: true },
    list: 'alice',
    text: 'New York',
    dictionary: 'towns',
    entryId: 'nyc',
    entries: [entry()],
    entryIds: ['nyc'],
    reason: 'a test',
  };
}

/** The messages of each call that reads a stream. */
const CLIENT_STREAMS: Readonly<Record<string, readonly object[]>> = {
  ImportDictionary: [{ part: start }, { part: commit(0) }],
  SuggestStream: [{ queryId: 1n, suggest: suggestRequest() }],
  OpenSession: [sessionWithLock],
};

/** How a call is sent. */
export interface Sending {
  /** Default: a client that all calls of the harness share. */
  readonly client?: Client;
  readonly metadata?: Metadata;
  /** Whether a stream of the client stays open after its first message. Default: the client ends its stream. */
  readonly staysOpen?: boolean;
}

export interface ContractCall {
  /** The path of the HTTP/2 request, such as `/holdfast.v1.LockService/AcquireLock`. */
  readonly path: string;
  /** Whether the client or the server sends a stream of messages. */
  readonly isStream: boolean;
  /** Sends a valid request. Resolves to the call's error, and throws if the call ends OK. */
  failure(harness: Harness, sending?: Sending): Promise<ServiceError>;
}

/** @param except the names of methods that are left out */
export function contractCalls(except: readonly string[]): readonly ContractCall[] {
  const descriptors = readFileSync(join(ROOT, 'generated/descriptor.binpb'));
  return fromBinary(FileDescriptorSetSchema, descriptors)
    .file.filter((file) => file.package === 'holdfast.v1')
    .flatMap((file) => file.service)
    .flatMap(({ name: service, method: methods }) => methods.map(({ name }) => [service, name] as const))
    .filter(([, name]) => !except.includes(name))
    .map(([service, name]) => contractCall(service, name));
}

/** All calls of a harness share one client, because opening a connection takes longer than a call. */
const clients = new WeakMap<Harness, Client>();

function clientOf(harness: Harness): Client {
  const client = clients.get(harness) ?? harness.client(Client);
  clients.set(harness, client);
  return client;
}

function contractCall(service: string, name: string): ContractCall {
  const definition = DEFINITIONS[service] as Readonly<Record<string, Method>> | undefined;
  const method = definition?.[name.charAt(0).toLowerCase() + name.slice(1)];
  if (method === undefined) throw new Error(`contract-calls.ts has no definition of ${service}/${name}`);
  return {
    path: method.path,
    isStream: method.requestStream || method.responseStream,
    failure: (harness, sending = {}) =>
      method.requestStream
        ? streamFailure(clientOf(harness), method, name, sending)
        : failure(clientOf(harness), method, goodRequest(method, service), sending),
  };
}

/** The error of a call with one request. */
async function failure(
  shared: Client,
  { path, requestSerialize: write, responseDeserialize: read, responseStream }: Method,
  request: object,
  { client = shared, metadata = new Metadata() }: Sending,
): Promise<ServiceError> {
  if (responseStream) return endOf(client.makeServerStreamRequest(path, write, read, request, metadata));
  return failureOf(
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, write, read, request, metadata, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      );
    }),
  );
}

/** The error of a call with a stream of requests. */
async function streamFailure(
  shared: Client,
  { path, requestSerialize: write, responseDeserialize: read, responseStream }: Method,
  name: string,
  { client = shared, metadata = new Metadata(), staysOpen = false }: Sending,
): Promise<ServiceError> {
  const messages = CLIENT_STREAMS[name];
  if (messages === undefined) throw new Error(`contract-calls.ts has no messages of ${name}`);
  const send = (stream: ClientWritableStream<object>): void => {
    for (const message of staysOpen ? messages.slice(0, 1) : messages) stream.write(message);
    if (!staysOpen) stream.end();
  };
  if (responseStream) {
    const stream = client.makeBidiStreamRequest(path, write, read, metadata);
    send(stream);
    return endOf(stream);
  }
  return failureOf(
    new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: object): void =>
        error === null ? resolve(answer) : reject(error);
      send(client.makeClientStreamRequest(path, write, read, metadata, done));
    }),
  );
}

async function endOf(stream: ClientReadableStream<object>): Promise<ServiceError> {
  const { error } = await drainStream(stream);
  if (error === undefined) throw new Error('the stream ended OK');
  return error;
}

function goodRequest(method: Method, service: string): object {
  const request = method.requestDeserialize(Buffer.alloc(0));
  const good = Object.entries(goodValues(service)).filter(([field]) => field in request);
  return { ...request, ...Object.fromEntries(good) };
}
