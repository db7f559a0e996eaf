import { createHmac } from 'node:crypto';
import { exportSPKI } from 'jose';
import { HoldfastError } from '../../src/base/errors';
import { tokenDigest } from '../../src/access/credentials';
import { type Caller, CredentialError } from '../../src/access/caller';
import { JsonWebTokens } from '../../src/access/json-web-tokens';
import { type KeySet, KeysUnavailable, readKeySet } from '../../src/access/issuer-keys';
import { ManualClock } from '../support/manual-clock';
import { AUDIENCE, ISSUER, keySetText, sign, signingKey, type SigningKey } from './issuer';

const clock = new ManualClock(1000);
let ec: SigningKey;
let rsa: SigningKey;
let foreign: SigningKey;
let lookups = 0;
let find: KeySet['find'];
let renew: KeySet['renew'];
let tokens: JsonWebTokens;

beforeAll(async () => {
  [ec, rsa, foreign] = await Promise.all([
    signingKey('ec'),
    signingKey('rsa', 'RS256'),
    signingKey('ec'), // the same kid as the good key
  ]);
});
beforeEach(async () => {
  lookups = 0;
  const symmetric = { kty: 'oct', kid: 'secret', k: 'AAAA', alg: 'HS256' };
  find = readKeySet(await keySetText([ec, rsa], [symmetric])).find;
  const counted: KeySet['find'] = (header, token) => {
    lookups += 1;
    return find(header, token);
  };
  renew = () => Promise.resolve(false);
  const keys = keySet(counted);
  tokens = new JsonWebTokens({ issuer: ISSUER, audience: AUDIENCE, claim: 'sub', keys, clock });
});

function keySet(finder: KeySet['find']): KeySet {
  return {
    find: finder,
    renew: () => renew(),
    hasFailed: false,
    start: () => Promise.resolve(),
    close: () => undefined,
  };
}

async function callerOf(token: string, connection: object = {}): Promise<Caller> {
  return tokens.find(token, tokenDigest(token), connection);
}

async function refusalOf(token: string): Promise<CredentialError> {
  const outcome = await callerOf(token).catch((error: unknown) => error);
  if (outcome instanceof CredentialError) return outcome;
  throw new Error(`expected a CredentialError, got ${JSON.stringify(outcome)}`);
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test.each(['ec', 'rsa'])('a good token with the key %s proves its caller until its end', async (kid) => {
  const caller = await callerOf(await sign(kid === 'ec' ? ec : rsa));
  expect(caller.identity).toBe('jwt:https://login.example#alice');
  // The tolerance of the clocks is 30 s.
  const left = caller.expiresAt - clock.now();
  expect(left).toBeGreaterThan(320_000);
  expect(left).toBeLessThanOrEqual(330_000);
});

test('the configured claim names the caller', async () => {
  const keys = keySet(find);
  tokens = new JsonWebTokens({ issuer: ISSUER, audience: AUDIENCE, claim: 'client_id', keys, clock });
  expect((await callerOf(await sign(ec, { client_id: 'w1' }))).identity).toBe('jwt:https://login.example#w1');
  expect((await refusalOf(await sign(ec))).detail).toContain('claim client_id');
});

describe('a token is BAD_CREDENTIAL', () => {
  const now = Math.floor(Date.now() / 1000);
  const minute = 60;
  test.each<[string, () => string | Promise<string>, string, string]>([
    ['of another issuer', () => sign(ec, { iss: 'https://evil.example' }), 'is not accepted', '"iss"'],
    ['without an issuer', () => sign(ec, { iss: undefined }), 'is not accepted', '"iss"'],
    ['for another audience', () => sign(ec, { aud: 'other' }), 'is not accepted', '"aud"'],
    ['without an audience', () => sign(ec, { aud: undefined }), 'is not accepted', '"aud"'],
    ['that has expired', () => sign(ec, { endsIn: -31 }), 'has expired', '"exp"'],
    ['without an end', () => sign(ec, { exp: undefined }), 'is not accepted', '"exp"'],
    ['that is not yet valid', () => sign(ec, { nbf: now + 2 * minute }), 'is not accepted', '"nbf"'],
    ['of a foreign key with a known kid', () => sign(foreign), 'is not accepted', 'signature'],
    ['with an unknown kid', () => sign({ ...ec, kid: 'x' }), 'is not accepted', 'no applicable key'],
    [
      'with the kid of a symmetric key',
      () => sign({ ...ec, kid: 'secret' }),
      'is not accepted',
      'no applicable key',
    ],
    ['with an unknown critical header', () => sign(ec, {}, { crit: ['x'], x: 1 }), 'is not accepted', ''],
    ['without a caller', () => sign(ec, { sub: undefined }), 'is not accepted', 'claim sub'],
    ['with an empty caller', () => sign(ec, { sub: '' }), 'is not accepted', 'claim sub'],
    ['with a control character in the caller', () => sign(ec, { sub: 'a\nb' }), 'is not accepted', 'control'],
    ['with an invisible character', () => sign(ec, { sub: 'al\u200bice' }), 'is not accepted', 'invisible'],
    ['with a caller of 300 bytes', () => sign(ec, { sub: 'a'.repeat(300) }), 'is not accepted', '256 bytes'],
    ['with a caller that is no text', () => sign(ec, { sub: 7 }), 'is not accepted', 'sub'],
    ['with three parts of garbage', () => 'a.b.c', 'malformed', ''],
  ])('%s', async (_title, make, message, detail) => {
    const error = await refusalOf(await make());
    expect(error.reason).toBe('BAD_CREDENTIAL');
    expect(error.message).toContain(message);
    expect(error.detail).toContain(detail);
    // The client must not learn which check has failed.
    if (detail !== '') expect(error.message).not.toContain(detail);
  });

  test('with the algorithm none', async () => {
    const payload = { iss: ISSUER, aud: AUDIENCE, sub: 'admin', exp: now + 300 };
    for (const alg of ['none', 'None', 'NONE']) {
      const token = `${part({ alg, kid: 'ec' })}.${part(payload)}.`;
      expect((await refusalOf(token)).message).toMatch(/not accepted|malformed/);
      expect((await refusalOf(`${token}AAAA`)).message).toMatch(/not accepted|malformed/);
    }
  });

  test('with HS256 and a public key as the secret', async () => {
    const payload = part({ iss: ISSUER, aud: AUDIENCE, sub: 'admin', exp: now + 300 });
    const secrets = [
      await exportSPKI(rsa.publicKey),
      (await exportSPKI(rsa.publicKey)).trim(),
      (rsa.publicKey as unknown as { export(o: object): Buffer }).export({ type: 'spki', format: 'der' }),
    ];
    for (const secret of secrets) {
      const signed = `${part({ alg: 'HS256', kid: 'rsa' })}.${payload}`;
      const signature = createHmac('sha256', secret).update(signed).digest('base64url');
      expect((await refusalOf(`${signed}.${signature}`)).detail).toContain('"alg"');
    }
  });

  test('with a changed payload or a changed signature', async () => {
    const [header, , signature] = (await sign(ec)).split('.') as [string, string, string];
    const payload = part({ iss: ISSUER, aud: AUDIENCE, sub: 'admin', exp: now + 300 });
    expect((await refusalOf(`${header}.${payload}.${signature}`)).detail).toContain('signature');
    const token = await sign(ec);
    await refusalOf(token.slice(0, -6));
  });
});

test('an end up to 30 s ago is accepted, because clocks differ', async () => {
  expect((await callerOf(await sign(ec, { endsIn: -25 }))).identity).toContain('alice');
});

test('a token is checked once, and answered without a promise afterwards', async () => {
  const token = await sign(ec);
  const caller = await callerOf(token);
  expect(tokens.find(token, tokenDigest(token), {})).toBe(caller);
  expect(lookups).toBe(1);
  const many = await sign(ec, { sub: 'bob' });
  const callers = await Promise.all(Array.from({ length: 50 }, () => callerOf(many)));
  expect(new Set(callers).size).toBe(1);
  expect(lookups).toBe(2);
});

test('a refusal is remembered for 5 s', async () => {
  const token = await sign(foreign);
  await refusalOf(token);
  await refusalOf(token);
  expect(lookups).toBe(1);
  await clock.advance(5001);
  await refusalOf(token);
  expect(lookups).toBe(2);
});

test('tokens of withdrawn keys are refused after the keys have changed', async () => {
  const token = await sign(ec);
  await callerOf(token);
  find = readKeySet(await keySetText([rsa])).find;
  tokens.keysChanged(true);
  expect((await refusalOf(token)).message).toContain('is not accepted');
});

test('an accepted token is not checked again after a key was added', async () => {
  const token = await sign(ec);
  const caller = await callerOf(token);
  tokens.keysChanged(false);
  expect(tokens.find(token, tokenDigest(token), {})).toBe(caller);
});

test('a token with an unknown key is checked again after one request to the issuer', async () => {
  find = readKeySet(await keySetText([rsa])).find;
  const token = await sign(ec);
  expect((await refusalOf(token)).detail).toContain('no applicable key');
  await clock.advance(5001);
  renew = async () => {
    find = readKeySet(await keySetText([rsa, ec])).find;
    return true;
  };
  expect((await callerOf(token)).identity).toContain('alice');
});

test('tokens that wait for keys take no place from tokens with known keys', async () => {
  let goOn = (): void => undefined;
  const waiting = new Promise<void>((resolve) => (goOn = resolve));
  renew = () => waiting.then(() => true);
  const connection = {};
  const forged = await Promise.all(
    Array.from({ length: 300 }, (_, index) => sign({ ...ec, kid: `unknown-${index}` })),
  );
  const outcomes = forged.map((token, index) =>
    callerOf(token, index < 20 ? connection : {}).catch((error: unknown) => error),
  );
  // Above the bound.
  expect(await outcomes[16]).toMatchObject({ reason: 'OVERLOADED' });
  expect(await outcomes.at(-1)).toMatchObject({ reason: 'OVERLOADED' });
  expect((await callerOf(await sign(ec), connection)).identity).toContain('alice');
  goOn();
  expect(await outcomes[0]).toMatchObject({ reason: 'BAD_CREDENTIAL' });
});

test('a token has one text: other texts of the same bytes are BAD_CREDENTIAL', async () => {
  // The signature of 64 bytes leaves 4 bits of its last character unused.
  const token = await sign(ec);
  await callerOf(token);
  const bytes = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const texts = [...last]
    .map((character) => token.slice(0, -1) + character)
    .filter((text) => bytes.equals(Buffer.from(text.slice(text.lastIndexOf('.') + 1), 'base64url')));
  expect(texts).toHaveLength(16);
  const others = [...texts.filter((text) => text !== token), `${token}==`];
  const standard = token.replaceAll('-', '+').replaceAll('_', '/');
  if (standard !== token) others.push(standard);
  for (const text of others) expect((await refusalOf(text)).message).toContain('malformed');
});

test('without current keys the error says so, and asks for a later retry', async () => {
  find = () => {
    throw new KeysUnavailable('the keys are too old');
  };
  const token = await sign(ec);
  const error = await refusalOf(token);
  expect(error.message).toContain('cannot be checked at present');
  expect(error.details.retryAfterMs).toBe(1000);
  find = readKeySet(await keySetText([ec])).find;
  expect((await callerOf(token)).identity).toContain('alice');
});

test('the checks of one connection, and of the server, are bounded', async () => {
  let goOn = (): void => undefined;
  const waiting = new Promise<void>((resolve) => (goOn = resolve));
  const good = find;
  find = async (header, token) => {
    await waiting;
    return good(header, token);
  };
  const made = await Promise.all(
    Array.from({ length: 2150 }, (_, index) => sign(ec, { sub: `caller-${index}` })),
  );
  const connection = {};
  const ofOne = made
    .slice(0, 65)
    .map((token) => callerOf(token, connection).catch((error: unknown) => error));
  expect(await ofOne[64]).toMatchObject({ reason: 'OVERLOADED' });
  const ofMany = made.slice(65).map((token) => callerOf(token).catch((error: unknown) => error));
  const last = await ofMany.at(-1);
  expect(last).toBeInstanceOf(HoldfastError);
  expect(last).toMatchObject({ reason: 'OVERLOADED' });
  goOn();
  expect(await ofOne[0]).toMatchObject({ identity: 'jwt:https://login.example#caller-0' });
  expect((await Promise.all(ofMany)).filter((one) => !(one instanceof Error))).toHaveLength(2048 - 64);
  expect((await callerOf(made[2149] ?? '', connection)).identity).toContain('caller-2149');
});
