import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Metadata,
  type Client,
  type ClientReadableStream,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { tokenDigest } from '../../src/access/credentials';
import type { PolicyRule, QuotaRule } from '../../src/access/policy';
import { scratchFolder } from '../support/scratch-folder';
import { drainStream, Harness, type HarnessOptions } from './harness';

/** A server with fake engines, a token for each identity, and a policy file. The token of `token:x` is `secret-of-x`. */
export interface PolicyHarness {
  readonly harness: Harness;
  readonly policyFile: string;
}

export async function startWithPolicy(
  names: readonly string[],
  rules: readonly PolicyRule[],
  options: HarnessOptions = {},
): Promise<PolicyHarness> {
  const folder = scratchFolder();
  const tokens = join(folder, 'tokens');
  const policyFile = join(folder, 'policy.yaml');
  writeFileSync(tokens, names.map((name) => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`).join(''));
  writePolicy(policyFile, rules);
  const harness = await Harness.start({
    ...options,
    access: {
      ...options.access,
      tokens: { setting: 'HOLDFAST_AUTH_TOKENS', path: tokens },
      policy: { setting: 'HOLDFAST_POLICY', path: policyFile },
    },
  });
  return { harness, policyFile };
}

/** JSON is YAML. */
export function writePolicy(
  file: string,
  rules: readonly PolicyRule[],
  quotas: readonly QuotaRule[] = [],
): void {
  writeFileSync(file, `${JSON.stringify({ rules, quotas })}\n`);
}

export function metadataOf(name: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer secret-of-${name}`);
  return metadata;
}

export type Method = MethodDefinition<object, object>;

export interface Outcome {
  readonly answers: readonly object[];
  readonly error: ServiceError | undefined;
}

async function ended(stream: ClientReadableStream<object>): Promise<Outcome> {
  const { messages, error } = await drainStream(stream);
  return { answers: messages, error };
}

/** Makes one call of any kind with these messages, and waits for its end. */
export function makeCall(
  client: Client,
  method: Method,
  messages: readonly object[],
  metadata: Metadata,
): Promise<Outcome> {
  const { path, requestSerialize: write, responseDeserialize: read, requestStream, responseStream } = method;
  if (responseStream && requestStream) {
    const stream = client.makeBidiStreamRequest(path, write, read, metadata);
    for (const message of messages) stream.write(message);
    stream.end();
    return ended(stream);
  }
  if (responseStream) {
    return ended(client.makeServerStreamRequest(path, write, read, messages[0] as object, metadata));
  }
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, answer?: object): void =>
      resolve({ answers: answer === undefined ? [] : [answer], error: error ?? undefined });
    if (!requestStream) {
      client.makeUnaryRequest(path, write, read, messages[0] as object, metadata, done);
      return;
    }
    const stream = client.makeClientStreamRequest(path, write, read, metadata, done);
    // A refused stream ends before all its messages are written.
    stream.on('error', () => undefined);
    for (const message of messages) stream.write(message);
    stream.end();
  });
}
