import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckRequest } from '../../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionRequest } from '../../../generated/typescript/grpc/reflection/v1/reflection';
import type { Attack, AttackScene } from './attack';
import { acquireLock, bodyOf, keepOutstanding, releaseLock } from './attack';
import type { Outcome, RawCall } from './frame-connection';

/** Floods of calls that a server with a `Guard` refuses. */

/** The id of a key of the issuer. */
export const KNOWN_KEY = 'known-key';
/** The token of a caller that may use no lock of an attack. */
export const OUTSIDER_TOKEN = 'the-token-of-an-outsider';

const OUTSTANDING = 5000;
const CONNECTIONS = 10;
const TTL_MS = 2000;
/** The pause before a connection takes the place of one that the server has cut. */
const RECONNECT_PAUSE_MS = 5;

/** Every second call is a release, which a server treats as urgent if its caller is proven. */
function lockCall(name: string, index: number): RawCall {
  return index % 2 === 0 ? acquireLock({ name, ttlMs: TTL_MS, waitMs: 0 }) : releaseLock(name);
}

function flood(scene: AttackScene, callOf: (index: number) => RawCall): Promise<void> {
  let index = 0;
  return keepOutstanding(scene, CONNECTIONS, scene.scaled(OUTSTANDING), () => callOf(index++));
}

export const unprovenCalls: Attack = {
  name: 'unproven-calls',
  title: '5,000 acquires and releases without a credential, kept outstanding over 10 connections',
  refusal: 'NO_CREDENTIAL',
  run: (scene) => flood(scene, (index) => lockCall(scene.label, index)),
};

function withToken(call: RawCall, token: string): RawCall {
  return { ...call, headers: [['authorization', `Bearer ${token}`]] };
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

const PAYLOAD = base64url({ iss: 'https://login.example', aud: 'holdfast', sub: 'alice', exp: 2 ** 32 });
const KNOWN_HEADER = base64url({ alg: 'ES256', kid: KNOWN_KEY });

/** Another token with each call. Every second token names a key that the issuer does not have. */
function forgedToken(index: number): string {
  const header =
    index % 2 === 0 ? KNOWN_HEADER : base64url({ alg: 'ES256', kid: randomBytes(8).toString('hex') });
  return `${header}.${PAYLOAD}.${randomBytes(64).toString('base64url')}`;
}

export const forgedTokens: Attack = {
  name: 'forged-tokens',
  title: 'the same calls with forged JSON web tokens, half of them with an unknown key',
  refusal: 'BAD_CREDENTIAL',
  // Half of the acquires, and half of the releases, have an unknown key.
  run: (scene) => flood(scene, (index) => withToken(lockCall(scene.label, index), forgedToken(index >> 1))),
};

export const forbiddenCalls: Attack = {
  name: 'forbidden-calls',
  title: 'the same calls with a good token, for a name that the policy does not allow',
  refusal: 'NOT_ALLOWED',
  run: (scene) => flood(scene, (index) => withToken(lockCall(scene.label, index), OUTSIDER_TOKEN)),
};

const WATCH: RawCall = {
  path: '/grpc.health.v1.Health/Watch',
  body: bodyOf(HealthCheckRequest.encode({ service: '' }).finish()),
};
const REFLECT: RawCall = {
  path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  body: bodyOf(
    ServerReflectionRequest.encode({
      host: '',
      messageRequest: { $case: 'fileContainingSymbol', value: 'holdfast.v1.LockService' },
    }).finish(),
  ),
  halfClose: false,
};

export const CHECK: RawCall = {
  path: '/grpc.health.v1.Health/Check',
  body: bodyOf(HealthCheckRequest.encode({ service: '' }).finish()),
};
const REFLECT_ONCE: RawCall = { ...REFLECT, halfClose: true };

const MOST_CONNECTIONS = 30;
const FLOOD_BATCH = 100;

/**
 * Sends calls as fast as the server takes them, without waiting for answers: on every third connection with answers that
 * cannot be sent, and on every third connection without reading at all. Every second call has no message.
 */
async function floodOpenly(scene: AttackScene, callOf: (index: number) => RawCall): Promise<void> {
  const kinds = ['all', 'no-messages', 'nothing'] as const;
  let index = 0;
  const send = async (reads: (typeof kinds)[number]): Promise<void> => {
    while (!scene.over) {
      const connection = await scene.connect({ reads });
      for (; !scene.over && !connection.ended; await sleep(1)) {
        for (let count = 0; count < FLOOD_BATCH && connection.writable; count += 1) {
          const call = callOf(index++);
          connection.call(
            index % 2 === 0 ? call : { path: call.path, headers: call.headers ?? [], halfClose: false },
          );
        }
      }
      connection.close();
      await sleep(RECONNECT_PAUSE_MS);
    }
  };
  const count = scene.scaled(MOST_CONNECTIONS);
  await Promise.all(Array.from({ length: count }, (_, at) => send(kinds[at % 3] ?? 'all')));
}

/** Floods that test the memory of a server. Their full size has 30 connections. */
export const openFloods: readonly Attack[] = (
  [
    ['health', 'OK', () => CHECK],
    ['reflection', 'OK', () => REFLECT_ONCE],
    ['unproven', 'NO_CREDENTIAL', (index, name) => lockCall(name, index)],
    ['forbidden', 'NOT_ALLOWED', (index, name) => withToken(lockCall(name, index), OUTSIDER_TOKEN)],
  ] satisfies [string, Outcome, (index: number, name: string) => RawCall][]
).map(([name, refusal, callOf]) => ({
  name: `flood-${name}`,
  title: `as many calls of the kind ${name} as the server takes, over 30 connections`,
  refusal,
  run: (scene) => floodOpenly(scene, (index) => callOf(index, scene.label)),
}));

export const openStreams: Attack = {
  name: 'open-streams',
  title: '5,000 streams of health and reflection without a credential, kept open over 10 connections',
  refusal: 'QUOTA_EXCEEDED',
  run: (scene) => flood(scene, (index) => (index % 2 === 0 ? WATCH : REFLECT)),
};
