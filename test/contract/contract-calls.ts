import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, Metadata, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';
import { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { SemaphoreServiceService } from '../../generated/typescript/holdfast/v1/semaphore_service';
import { ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import { SessionServiceService } from '../../generated/typescript/holdfast/v1/session_service';
import { ROOT } from '../support/root';
import { commit, entry, start } from './autocomplete-calls';
import { drainStream, failureOf, type Harness } from './harness';
import { leaseOf } from './services';

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
};

export interface ContractCall {
  /** The path of the HTTP/2 request, such as `/holdfast.v1.LockService/AcquireLock`. */
  readonly path: string;
  /** Sends a valid request. Resolves to the call's error, and throws if the call ends OK. */
  failure(harness: Harness): Promise<ServiceError>;
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
  return { path: method.path, failure: (harness) => failure(clientOf(harness), method, service, name) };
}

async function failure(client: Client, method: Method, service: string, name: string): Promise<ServiceError> {
  const { path, requestSerialize: write, responseDeserialize: read } = method;
  if (method.requestStream) {
    const messages = CLIENT_STREAMS[name];
    if (messages === undefined) throw new Error(`contract-calls.ts has no messages of ${name}`);
    return failureOf(
      new Promise((resolve, reject) => {
        const stream = client.makeClientStreamRequest(path, write, read, (error, answer) =>
          error === null ? resolve(answer) : reject(error),
        );
        for (const message of messages) stream.write(message);
        stream.end();
      }),
    );
  }
  const request = goodRequest(method, service);
  if (method.responseStream) {
    const { error } = await drainStream(client.makeServerStreamRequest(path, write, read, request));
    if (error === undefined) throw new Error(`${path} ended OK`);
    return error;
  }
  return failureOf(
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, write, read, request, new Metadata(), (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      );
    }),
  );
}

function goodRequest(method: Method, service: string): object {
  const request = method.requestDeserialize(Buffer.alloc(0));
  const good = Object.entries(goodValues(service)).filter(([field]) => field in request);
  return { ...request, ...Object.fromEntries(good) };
}
