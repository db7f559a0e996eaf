import { randomBytes } from 'node:crypto';
import { HealthCheckRequest } from '../../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionRequest } from '../../../generated/typescript/grpc/reflection/v1/reflection';
import type { Attack, AttackScene } from './attack';
import { acquireLock, bodyOf, keepOutstanding, releaseLock } from './attack';
import type { RawCall } from './frame-connection';

/** Floods of calls that a server with a `Guard` refuses. */

/** The id of a key of the issuer. */
export const KNOWN_KEY = 'known-key';
/** The token of a caller that may use no lock of an attack. */
export const OUTSIDER_TOKEN = 'the-token-of-an-outsider';

const OUTSTANDING = 5000;
const CONNECTIONS = 10;
const TTL_MS = 2000;

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

export const openStreams: Attack = {
  name: 'open-streams',
  title: '5,000 streams of health and reflection without a credential, kept open over 10 connections',
  refusal: 'QUOTA_EXCEEDED',
  run: (scene) => flood(scene, (index) => (index % 2 === 0 ? WATCH : REFLECT)),
};
