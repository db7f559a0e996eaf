import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  connect,
  type ConnectOptions,
  CredentialError,
  type Entry,
  type Holdfast,
  type Leader,
  NoSuchDictionaryError,
  UnavailableError,
} from '../../../../clients/typescript';
import { LockServiceService } from '../../../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../../../src/access/credentials';
import { InProcessServer } from '../../../end-to-end/in-process-server';
import { ServerPair } from '../../../end-to-end/server-pair';
import { Authority } from '../../../support/certificates';
import { closeAll, eventually } from '../../../support/eventually';
import { RedisProcess } from '../../../support/processes/redis-process';
import { scratchFolder } from '../../../support/scratch-folder';

describe('access', () => {
  let redis: RedisProcess;
  let server: InProcessServer;
  let folder: string;
  let authority: Authority;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    folder = scratchFolder();
    writeFileSync(join(folder, 'tokens'), `alice sha256:${tokenDigest('right')}\n`);
    authority = new Authority(folder);
    const ofServer = authority.issueForServer();
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_TLS_CERT: ofServer.cert,
      HOLDFAST_TLS_KEY: ofServer.key,
      HOLDFAST_TLS_CLIENT_CA: authority.cert,
      HOLDFAST_AUTH_TOKENS: join(folder, 'tokens'),
    });
  });
  afterAll(() =>
    closeAll(
      () => server?.closeDespiteWarnings(),
      () => redis?.close(),
    ),
  );

  const open = (options: ConnectOptions) => connect(server.address, { timeout: '20s', ...options });

  test('a token and the authority of the servers are enough for locks and calls', async () => {
    const hf = await open({ tls: { ca: authority.cert }, token: 'right' });
    expect(await hf.withLock('by token', (lease) => lease.permitCount)).toBe(1);
    expect((await hf.serverInfo()).features).toContain('SESSIONS');
    await hf.close();
  });

  test('a PEM text is no path', async () => {
    const hf = await open({ tls: { ca: authority.pem.toString() }, token: 'right\n' });
    await hf.close();
  });

  test('a client certificate proves the identity, and others see the identity', async () => {
    const { cert, key } = authority.issue({ names: 'URI:spiffe://example/worker' });
    const hf = await open({ tls: { ca: authority.pem, cert, key } });
    const lease = await hf.lock('by certificate');
    const { lock } = await hf.call(LockServiceService.getLock, { name: 'by certificate' });
    expect(lock?.holders[0]?.identity).toBe('spiffe://example/worker');
    await lease.release();
    await hf.close();
  });

  test('a refused token is fetched once more, and then connect rejects with a CredentialError', async () => {
    let count = 0;
    const token = () => `wrong ${++count}`;
    await expect(open({ tls: { ca: authority.cert }, token })).rejects.toThrow(CredentialError);
    expect(count).toBe(2);
  });

  test('a token file is read again, so a replaced token needs no restart', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, 'wrong\n');
    const connecting = open({ tls: { ca: authority.cert }, token: { file } });
    writeFileSync(join(folder, 'next'), 'right\n');
    renameSync(join(folder, 'next'), file);
    const hf = await connecting;
    await hf.close();
  });

  test('a callback that fails is asked again until the connection times out', async () => {
    let count = 0;
    const token = () => {
      count += 1;
      throw new Error('the vault is sealed');
    };
    const failing = open({ tls: { ca: authority.cert }, token, timeout: 500 });
    const error: unknown = await failing.catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CredentialError);
    expect((error as Error).message).toContain('the vault is sealed');
    expect(count).toBeGreaterThan(1);
  });

  test('a certificate file that is missing is named, and tried again', async () => {
    const ca = join(folder, 'late.pem');
    const early: unknown = await open({ tls: { ca }, token: 'right', timeout: 200 }).catch((e: unknown) => e);
    expect((early as Error).message).toContain('late.pem');
    const connecting = open({ tls: { ca }, token: 'right' });
    writeFileSync(ca, authority.pem);
    const hf = await connecting;
    await eventually('a lock', async () => (await hf.tryLock('late')) !== undefined);
    await hf.close();
  });

  test('a server with a certificate of another authority is refused', async () => {
    const other = new Authority(folder, 'other');
    const failing = open({ tls: { ca: other.cert }, token: 'right', timeout: 500 });
    await expect(failing).rejects.toThrow(UnavailableError);
  });
});

describe('recipes', () => {
  let pair: ServerPair;
  let hf: Holdfast;

  beforeAll(async () => {
    pair = await ServerPair.start();
    hf = await connect([pair.first.address, pair.second.address], { holderId: 'candidate' });
  });
  afterAll(() =>
    closeAll(
      () => hf?.close(),
      () => pair?.close(),
    ),
  );

  describe('an election', () => {
    test('shows the leader to observers, and the next leader after a resignation', async () => {
      const election = hf.election('scheduler');
      const seen: (Leader | undefined)[] = [];
      const stop = new AbortController();
      const observing = (async () => {
        for await (const leader of election.observe({ signal: stop.signal })) seen.push(leader);
      })();
      await eventually('an election without a leader', () => seen.length === 1);
      expect(await election.leader()).toBeUndefined();
      const first = await election.campaign('10.0.0.1:80');
      const second = election.campaign('10.0.0.2:80');
      await eventually('the first leader', () => seen.at(-1)?.value === '10.0.0.1:80');
      expect(await election.leader()).toMatchObject({
        value: '10.0.0.1:80',
        fencingToken: first.fencingToken,
      });
      await first.release();
      const next = await second;
      await eventually('the second leader', () => seen.at(-1)?.fencingToken === next.fencingToken);
      await next.release();
      await eventually('no leader', () => seen.at(-1) === undefined);
      stop.abort();
      await observing;
    });

    test('keeps value and metadata through updates at once, and a copy of the metadata', async () => {
      const metadata = new Map([['zone', 'a']]);
      const lease = await hf.election('shown').campaign('one', { metadata });
      const shown = async () => {
        const { lock } = await hf.call(LockServiceService.getLock, { name: 'shown' });
        return Object.fromEntries(lock?.holders[0]?.metadata ?? []);
      };
      metadata.set('zone', 'changed');
      await lease.updateValue('two');
      expect(await shown()).toEqual({ zone: 'a', value: 'two' });
      await Promise.all([lease.updateMetadata({ zone: 'b' }), lease.updateValue('three')]);
      expect(await shown()).toEqual({ zone: 'b', value: 'three' });
      await lease.release();
    });

    test('runs the work of the leader, and resigns', async () => {
      const election = hf.election('led');
      expect(await election.lead('me', async () => (await election.leader())?.value)).toBe('me');
      expect(await election.leader()).toBeUndefined();
    });
  });

  describe('recents', () => {
    test('are suggested with the latest first, and removed', async () => {
      const recents = hf.recents('user-1');
      await recents.add('anchor');
      await recents.add('anvil', { entryId: 'a2', payload: Buffer.from([1]) });
      expect((await recents.suggest('an')).map(({ text, id, isRecent }) => [text, id, isRecent])).toEqual([
        ['anvil', 'a2', true],
        ['anchor', '', true],
      ]);
      expect(await recents.remove('anchor')).toBe(true);
      expect(await recents.delete()).toBe(true);
      expect(await recents.suggest('')).toEqual([]);
    });
  });

  async function* many(count: number): AsyncGenerator<Entry> {
    for (let n = 0; n < count; n++) yield { id: `id ${n}`, text: `harbour ${n}`, weight: n };
  }

  describe('a dictionary', () => {
    test('takes entries, suggests, lists and counts selections', async () => {
      const ports = hf.dictionary('ports');
      await ports.create({ profile: { accents: 'dropped' } });
      await ports.put([
        { id: 'rtm', text: 'Rotterdam', weight: 5, aliases: ['RTM'] },
        { id: 'ros', text: 'Rostock' },
      ]);
      expect((await ports.suggest('ro', { limit: 1 })).map(({ id, matchKind }) => [id, matchKind])).toEqual([
        ['rtm', 'PREFIX'],
      ]);
      expect(await ports.recordSelection('ros', { count: 10 })).toBe(true);
      expect((await ports.suggest('ro')).map(({ id }) => id)).toEqual(['ros', 'rtm']);
      const listed = [];
      for await (const { id, selectionCount } of ports.entries()) listed.push([id, selectionCount]);
      expect(listed).toEqual([
        ['ros', 10],
        ['rtm', 0],
      ]);
      expect(await ports.deleteEntries(['ros', 'none'])).toBe(1);
      expect((await ports.info())?.entryCount).toBe(1n);
      expect(await ports.delete()).toBe(true);
      await expect(ports.suggest('ro')).rejects.toThrow(NoSuchDictionaryError);
    });

    test('imports from an async source in batches, and replaces all entries', async () => {
      const harbours = hf.dictionary('harbours');
      expect((await harbours.import(many(2500))).entryCount).toBe(2500n);
      expect((await harbours.suggest('harbour', { limit: 1 }))[0]?.text).toBe('harbour 2499');
      expect((await harbours.import(many(3))).entryCount).toBe(3n);
      const names = [];
      for await (const name of hf.dictionaryNames('harb')) names.push(name);
      expect(names).toEqual(['harbours']);
    });

    test('keeps its entries if the source of an import fails', async () => {
      const kept = hf.dictionary('kept');
      await kept.import(many(2));
      async function* broken(): AsyncGenerator<Entry> {
        yield* many(1500);
        throw new Error('the file is broken');
      }
      await expect(kept.import(broken())).rejects.toThrow('the file is broken');
      expect((await kept.info())?.entryCount).toBe(2n);
    });

    test('answers only the latest keystroke', async () => {
      const typed = hf.dictionary('typed');
      await typed.import(many(30));
      const field = typed.typeAhead({ limit: 2 });
      const answers = ['h', 'ha', 'harbour 2'].map((text) => field.type(text));
      const [first, second, last] = await Promise.all(answers);
      expect([first, second]).toEqual([undefined, undefined]);
      expect(last?.map(({ text }) => text)).toEqual(['harbour 2', 'harbour 29']);
      field.close();
      await expect(field.type('x')).rejects.toMatchObject({ name: 'ClosedError' });
    });

    test('tells the error of a bad query, and answers the next query', async () => {
      const field = hf.dictionary('none').typeAhead({ debounce: 0 });
      await expect(field.type('x')).rejects.toThrow(NoSuchDictionaryError);
      await hf.dictionary('none').create();
      expect(await field.type('x')).toEqual([]);
      field.close();
    });
  });
});
