import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Catalogue } from '../../../clients/conformance/server/catalogue';
import { Records } from '../../../clients/conformance/server/records';
import { ScriptedServer } from '../../../clients/conformance/server/scripted-server';
import { SessionChecks } from '../../../clients/conformance/server/session-checks';
import { Store } from '../../../clients/conformance/server/store';
import { takeover } from '../../../clients/conformance/server/takeovers';
import { connect, InvalidRequestError, type Holdfast } from '../../../clients/typescript';
import { errorOfCommand } from '../../../clients/typescript/errors';
import { ownNames } from '../../../clients/typescript/server-texts';
import { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { closeAll, eventually } from '../../support/eventually';

// Mistakes in the caller's program, and what the client tells of them.

const store = new Store();
const lines: string[] = [];
const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (line: string) => void lines.push(line),
  error: (line: string) => void lines.push(line),
};
let server: ScriptedServer;
let hf: Holdfast;

beforeAll(async () => {
  const records = new Records(() => undefined);
  const checks = new SessionChecks(records);
  server = await ScriptedServer.start({ name: 'A', store, catalogue: new Catalogue(), records, checks });
  hf = await connect(server.address, { logger });
});
afterAll(() =>
  closeAll(
    () => hf.close(),
    () => store.close(),
    () => server.close(),
  ),
);
beforeEach(() => void lines.splice(0));

describe('an unknown option', () => {
  const wrong = (options: object) => options as never;
  test.each<[string, string, () => Promise<unknown>]>([
    ['lock', 'did you mean "ttl"?', () => hf.lock('a', wrong({ tll: '30s' }))],
    ['withLock', 'did you mean "wait"?', () => hf.withLock('a', wrong({ Wait: 1 }), () => 1)],
    [
      'tryLock',
      'the options are ttl, maxHold, signal, metadata, mode',
      () => hf.tryLock('a', wrong({ wait: 1 })),
    ],
    ['permits', 'did you mean "limit"?', () => hf.permits('a', wrong({ limits: 1 }))],
    ['tryPermits', 'did you mean "exactLimit"?', () => hf.tryPermits('a', wrong({ exactlimit: true }))],
    ['campaign', 'did you mean "maxHold"?', () => hf.election('a').campaign('v', wrong({ max_hold: 1 }))],
    ['leader', 'did you mean "timeout"?', () => hf.election('a').leader(wrong({ timeoutMs: 1 }))],
    ['suggest', 'did you mean "limit"?', () => hf.dictionary('a').suggest('', wrong({ limt: 1 }))],
    ['profile', 'did you mean "typos"?', () => hf.dictionary('a').create({ profile: wrong({ typo: true }) })],
    ['import', 'did you mean "profile"?', () => hf.dictionary('a').import([], wrong({ profil: {} }))],
    ['add', 'did you mean "entryId"?', () => hf.recents('a').add('x', wrong({ entryID: 'b' }))],
    ['serverInfo', 'did you mean "signal"?', () => hf.serverInfo(wrong({ signals: 1 }))],
    ['connect', 'did you mean "holderId"?', () => connect(server.address, wrong({ holderID: 'a' }))],
    ['tls', 'did you mean "serverName"?', () => connect(server.address, { tls: wrong({ servername: 'a' }) })],
  ])('of %s is a TypeError that names the nearest one', async (_call, advice, run) => {
    const error: unknown = await run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/^there is no option "/);
    expect((error as Error).message).toContain(advice);
  });

  test('without a value is no mistake', async () => {
    await (await hf.lock('blank', wrong({ tll: undefined }))).release();
  });
});

describe('the stack of an error', () => {
  async function callOfThisTest(run: () => Promise<unknown>): Promise<string> {
    await Promise.resolve();
    const error: unknown = await run().catch((thrown: unknown) => thrown);
    return String((error as Error).stack);
  }

  test.each<[string, () => Promise<unknown>]>([
    ['an acquire', () => hf.permits('none')],
    ['a try', () => hf.tryPermits('none')],
    ['a call', () => hf.dictionary('none').suggest('')],
    ['an import', () => hf.dictionary('none').import([{ id: '', text: '', weight: 0.5 }])],
  ])('shows who has called: %s', async (_, run) => {
    expect(await callOfThisTest(run)).toContain('mistakes.test.ts');
  });

  test('shows each of two callers whose waits end together', async () => {
    const client = await connect(server.address);
    const held = await client.lock('both');
    async function firstCaller(): Promise<void> {
      await client.lock('both');
    }
    async function secondCaller(): Promise<void> {
      await client.lock('both');
    }
    const waits = [firstCaller(), secondCaller()].map((wait) =>
      wait.catch((error: Error) => String(error.stack)),
    );
    await held.release();
    await client.close();
    const [first, second] = await Promise.all(waits);
    expect(`${first}\n${second}`).toContain('secondCaller');
  });
});

describe('a limit', () => {
  test('that the semaphore does not have is told once, with both limits', async () => {
    await (await hf.permits('gpu', { limit: 3 })).release();
    const other = await connect(server.address, { logger });
    const leases = [await other.permits('gpu', { limit: 9 }), await other.permits('gpu', { limit: 9 })];
    await eventually('a warning', () => lines.length === 1);
    expect(lines[0]).toMatch(/the semaphore "gpu" has the limit 3, not 9/);
    for (const lease of leases) await lease.release();
    await other.close();
  });

  test('is asked for once by a caller who may not read it, and the permits are granted', async () => {
    server.behaviour.takeovers.add(takeover({ kind: 'GetSemaphore', name: 'secret', fail: 'NOT_ALLOWED' }));
    await (await hf.permits('secret', { limit: 3 })).release();
    await (await hf.permits('secret', { limit: 9 })).release();
    await (await hf.permits('gpu', { limit: 7 })).release();
    await eventually('a warning', () => lines.length > 0);
    expect(lines.join('\n')).not.toContain('secret');
  });

  test('that is demanded must be given', async () => {
    await expect(hf.permits('gpu', { exactLimit: true })).rejects.toThrow(InvalidRequestError);
    const text = { limit: 3, exactLimit: 'yes' } as never;
    await expect(hf.permits('gpu', text)).rejects.toThrow('exactLimit must be true or false, not "yes"');
  });
});

describe('a handle that nobody has any more', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  test('is told without a release, and the lease goes on', async () => {
    await hf.lock('forgotten');
    await (await hf.lock('released')).release();
    await eventually('a warning', () => {
      collect();
      return lines.length === 1;
    });
    expect(lines[0]).toMatch(/the lease of "forgotten" was forgotten without a release/);
    expect(await hf.tryLock('forgotten')).toBeUndefined();
  });

  test('is no mistake in a body that never ends', async () => {
    void hf.withLock('endless', () => new Promise(() => undefined)).catch(() => undefined);
    await eventually('the lock is held', async () => (await hf.tryLock('endless')) === undefined);
    for (let turn = 0; turn < 5; turn++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(lines).toEqual([]);
  });
});

test('suggestions and entries can be written as JSON, and a weight of 2^52 is exact', async () => {
  const towns = hf.dictionary('towns');
  await towns.create();
  await towns.put([{ id: 'a', text: 'Berlin', weight: 2 ** 52 }]);
  const [suggestion] = await towns.suggest('be');
  expect(JSON.parse(JSON.stringify(suggestion))).toMatchObject({ id: 'a', score: 4503599627370496 });
  for await (const entry of towns.entries()) {
    expect(JSON.parse(JSON.stringify(entry))).toMatchObject({ weight: 2 ** 52, selectionCount: 0 });
  }
});

// The texts are those of src/engine and src/transport that name a field of a request of this package.
describe('the text of a server', () => {
  test.each([
    ['lock "a" is held; raise wait_timeout to queue', 'lock "a" is held; raise wait to queue'],
    ['lock "wait_timeout" is held', 'lock "wait_timeout" is held'],
    ['lock "a\\"wait_timeout" is held', 'lock "a\\"wait_timeout" is held'],
    ['acquire_permits.permit_count must be at least 1', 'permits must be at least 1'],
    ['set its limit, or acquire with initial_limit', 'set its limit, or acquire with limit'],
    ['the lease has ended; acquire again with a new request_id', 'the lease has ended; acquire again'],
    ['acquire_lock.wait_timeout must not be negative', 'wait must not be negative'],
    ['start.holder_id is 600 bytes', 'holderId is 600 bytes'],
    ['update.metadata_update.entries has 40 entries', 'metadata has 40 entries'],
    ['suggest.page_size is 0', 'limit is 0'],
    ['match_kinds[1] is not a MatchKind', 'matchKinds[1] is not a MatchKind'],
    ['recents_list is required', 'recents is required'],
    ['max_staleness is not a valid Duration', 'maxStaleness is not a valid Duration'],
    ['entry_ids[3] is required', 'ids[3] is required'],
    ['entry_id is required', 'id is required'],
    ['start.profile.typo_matching is not known', 'profile.typos is not known'],
    ['repeat the call with the same request_id to keep waiting', 'call again to keep waiting'],
    ['was made with another permit_count; use a new request_id', 'was made with another permits; call again'],
    ['it may be done; repeat the call with request_id 0f-1a', 'it may be done; repeat the call'],
    ['it may be done; repeat the call with the same lease_id', 'it may be done; repeat the call'],
    ['stopping; continue at another server with request_id 7', 'stopping; continue at another server'],
    ['release, or open a second session with another client_id', 'release, or use a second client'],
    ['the lock "a with request_id 7" is held', 'the lock "a with request_id 7" is held'],
    ['the ttl has passed, and the limit is 3', 'the ttl has passed, and the limit is 3'],
  ])('has the names of the options: %s', (text, own) => {
    expect(ownNames(text)).toBe(own);
  });

  test('is the text of an error and of its violations, whose fields stay those of the contract', () => {
    const field = 'acquire_lock.wait_timeout';
    const message = `${field} must not be negative`;
    const violations = [{ field, description: message }];
    const failed = CommandFailed.fromPartial({ code: 3, reasonText: 'INVALID_FIELD', message, violations });
    const error = errorOfCommand(failed);
    expect(error.message).toBe('wait must not be negative');
    expect(error.violations).toEqual([{ field, description: 'wait must not be negative' }]);
  });
});
