import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeProtectedHeader, type FlattenedJWSInput, type JWTHeaderParameters } from 'jose';
import { systemClock } from '../../src/base/clock';
import { type KeySet, KeySetFile, KeysUnavailable, readKeySet } from '../../src/access/issuer-keys';
import { defaultKeySetTimes, type KeySetTimes, KeySetUrl } from '../../src/access/issuer-keys-url';
import { collectGarbage } from '../support/collect-garbage';
import { eventually } from '../support/eventually';
import { scratchFolder } from '../support/scratch-folder';
import { IssuerServer, keySetText, sign, signingKey, type SigningKey } from './issuer';

let [first, second]: SigningKey[] = [];
beforeAll(async () => {
  [first, second] = await Promise.all([signingKey('first'), signingKey('second')]);
});

const warnings: string[] = [];
const ignore = (): void => undefined;
const log = {
  debug: ignore,
  info: ignore,
  error: ignore,
  warn: (_: object, text: string) => void warnings.push(text),
};
let changes = 0;
let withdrawals = 0;
const onChanged = (hasWithdrawn: boolean): void => {
  changes += 1;
  if (hasWithdrawn) withdrawals += 1;
};
let issuer: IssuerServer;
const closers: (() => void)[] = [];
beforeEach(async () => {
  warnings.length = changes = withdrawals = 0;
  issuer = await IssuerServer.start();
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
  issuer.close();
});

const quick: KeySetTimes = {
  ...defaultKeySetTimes,
  requestMs: 2000,
  coolDownMs: 0,
  firstRetryMs: 20,
  longestRetryMs: 40,
};

async function open(times: Partial<KeySetTimes> = {}): Promise<KeySetUrl> {
  const keys = new KeySetUrl({
    url: issuer.url,
    clock: systemClock,
    log,
    onChanged,
    times: { ...quick, ...times },
  });
  closers.push(() => keys.close());
  await keys.start();
  return keys;
}

/** As a check of a token does: the present keys first, then those of one request. */
async function find(keys: KeySet, key: SigningKey): Promise<unknown> {
  const token = await sign(key);
  const look = async () =>
    keys.find(decodeProtectedHeader(token) as JWTHeaderParameters, {} as FlattenedJWSInput);
  try {
    return await look();
  } catch (error) {
    if (!(await keys.renew())) throw error;
    return look();
  }
}

test('a key set is requested at the start, and its keys are found without further requests', async () => {
  issuer.answer = await keySetText([first!]);
  const keys = await open();
  for (let count = 0; count < 5; count += 1) expect(await find(keys, first!)).toBeDefined();
  expect(issuer.requestCount).toBe(1);
});

test('an unknown kid causes one request, so a rotated key is found', async () => {
  issuer.answer = await keySetText([first!]);
  const keys = await open();
  issuer.answer = await keySetText([first!, second!]);
  expect(await Promise.all([find(keys, second!), find(keys, second!)])).not.toContain(undefined);
  expect(issuer.requestCount).toBe(2);
  expect([changes, withdrawals]).toEqual([2, 0]);
});

test('the same keys in another order and another form are no change, and a missing key is a withdrawal', async () => {
  const { keys: published } = JSON.parse(await keySetText([first!, second!])) as { keys: object[] };
  const turned = published.map((key) => Object.fromEntries(Object.entries(key).reverse())).reverse();
  issuer.answer = JSON.stringify({ keys: published });
  const keys = await open();
  issuer.answer = JSON.stringify({ keys: turned, more: 1 }, undefined, 2);
  await keys.renew();
  expect([issuer.requestCount, changes]).toEqual([2, 1]);
  issuer.answer = await keySetText([second!]);
  await keys.renew();
  expect([changes, withdrawals]).toEqual([2, 1]);
});

test('an issuer that publishes an empty set has withdrawn all its keys', async () => {
  issuer.answer = await keySetText([first!]);
  const keys = await open();
  issuer.answer = '{"keys":[]}';
  await keys.renew();
  await expect(find(keys, first!)).rejects.toThrow('no applicable key');
  expect(withdrawals).toBe(1);
  expect(warnings).toEqual([expect.stringContaining('all JSON web tokens are refused')]);
});

test('a request without an answer ends at its time limit, also if garbage is collected meanwhile', async () => {
  issuer.answer = 'silence';
  const started = open({ requestMs: 300, firstRetryMs: 100_000, longestRetryMs: 100_000 });
  await eventually('the request', () => issuer.requestCount === 1);
  await collectGarbage(2);
  const keys = await started;
  expect(warnings).toHaveLength(1);
  issuer.answer = await keySetText([first!]);
  await keys.renew();
  expect(await find(keys, first!)).toBeDefined();
});

test('a close ends a request that is on its way', async () => {
  issuer.answer = 'silence';
  const keys = new KeySetUrl({ url: issuer.url, clock: systemClock, log, onChanged });
  const started = keys.start();
  await eventually('the request', () => issuer.requestCount === 1);
  await collectGarbage(2);
  keys.close();
  await started;
  expect(warnings).toEqual([]);
});

test('unknown kids cause no further request within the cool-down', async () => {
  issuer.answer = await keySetText([first!]);
  const keys = await open({ coolDownMs: 60_000 });
  for (let count = 0; count < 5; count += 1)
    await expect(find(keys, second!)).rejects.toThrow('no applicable key');
  expect(issuer.requestCount).toBe(1);
});

test.each<[string, IssuerServer['answer']]>([
  ['answers with an error', 503],
  ['redirects', 302],
  ['does not answer', 'silence'],
  ['answers with a text that is no key set', '<html>'],
  ['answers with too much', 'x'.repeat(300_000)],
])('the last keys stay in use while the issuer %s', async (_title, answer) => {
  issuer.answer = await keySetText([first!]);
  const keys = await open({ refreshMs: 20, requestMs: 200 });
  issuer.answer = answer;
  await eventually('a warning', () => warnings.length > 0);
  expect(keys.hasFailed).toBe(true);
  expect(await find(keys, first!)).toBeDefined();
  expect(warnings[0]).toContain('the last keys stay in use');
  issuer.answer = await keySetText([second!]);
  await eventually('the new key', () => find(keys, second!).catch(() => undefined));
  expect(keys.hasFailed).toBe(false);
});

test('the last keys are not used longer than their bound', async () => {
  issuer.answer = await keySetText([first!]);
  const keys = await open({ refreshMs: 20, staleMs: 300 });
  expect(await find(keys, first!)).toBeDefined();
  issuer.answer = 503;
  await eventually('the end of the keys', () =>
    find(keys, first!).then(
      () => false,
      (error: unknown) => error instanceof KeysUnavailable,
    ),
  );
  await eventually('a warning', () => warnings.some((text) => text.includes('JSON web tokens are refused')));
});

test('a server starts while the issuer is down, and requests the keys with growing pauses', async () => {
  issuer.answer = 503;
  const keys = await open({ firstRetryMs: 50, longestRetryMs: 100_000, coolDownMs: 100_000 });
  await expect(find(keys, first!)).rejects.toThrow(KeysUnavailable);
  // Pauses of 50, 100, 200 … ms.
  await eventually('three requests', () => issuer.requestCount >= 3);
  issuer.answer = await keySetText([first!]);
  await eventually('the key', () => find(keys, first!).catch(() => undefined));
});

test('a key set in a file is loaded again, and a bad file changes nothing', async () => {
  const path = join(scratchFolder(), 'keys.json');
  writeFileSync(path, await keySetText([first!]));
  const keys = new KeySetFile({ setting: 'HOLDFAST_AUTH_JWT_JWKS', path }, log, onChanged, 10);
  closers.push(() => keys.close());
  await keys.start();
  expect(await find(keys, first!)).toBeDefined();
  writeFileSync(path, '{"keys":[');
  await eventually('a warning', () => warnings.length > 0);
  expect(keys.hasFailed).toBe(true);
  expect(await find(keys, first!)).toBeDefined();
  rmSync(path);
  writeFileSync(path, await keySetText([second!]));
  await eventually('the new key', () => find(keys, second!).catch(() => undefined));
});

test('a server does not start with a bad file', async () => {
  const path = join(scratchFolder(), 'keys.json');
  writeFileSync(path, '{}');
  const keys = new KeySetFile({ setting: 'HOLDFAST_AUTH_JWT_JWKS', path }, log, onChanged);
  await expect(keys.start()).rejects.toThrow('HOLDFAST_AUTH_JWT_JWKS cannot be used');
});

test.each([
  ['null', 'no list "keys"'],
  ['{"keys":{}}', 'no list "keys"'],
  [JSON.stringify({ keys: Array.from({ length: 101 }, () => ({ kty: 'EC' })) }), 'at most 100'],
  ['{"keys":', 'JSON'],
])('readKeySet refuses %.40s', (text, problem) => {
  expect(() => readKeySet(text)).toThrow(problem);
});

test('readKeySet leaves out symmetric keys, and what is no key', () => {
  expect(readKeySet('{"keys":[null,{"kty":"oct","k":"AAAA"}]}').texts.size).toBe(0);
});
