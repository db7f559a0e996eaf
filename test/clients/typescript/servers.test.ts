import { LookUps, Servers, textOf } from '../../../clients/typescript/connection/servers';

const never = new AbortController().signal;

/** The servers, and what each name means. Undefined: the name is not found. */
function namedServers(given: readonly string[], found: { now: readonly string[] | undefined }): Servers {
  const lookUp = () =>
    found.now ? Promise.resolve(found.now) : Promise.reject(new Error('the name is not found'));
  return new Servers(given, undefined, new LookUps(lookUp));
}

async function take(servers: Servers, count: number): Promise<(string | undefined)[]> {
  const taken = [];
  for (let turn = 0; turn < count; turn++) taken.push((await servers.next(never)).server.address);
  return taken;
}

test('each address of a name has its turn, and the families take turns', async () => {
  const found = { now: ['10.0.0.1', '10.0.0.2', 'fd00::1', '10.0.0.1'] };
  const servers = namedServers(['servers.test:7'], found);
  const first = await take(servers, 3);
  expect(await take(servers, 3)).toEqual(first);
  expect(first[1]).toBe('[fd00::1]:7');
  expect([...first].sort()).toEqual(['10.0.0.1:7', '10.0.0.2:7', '[fd00::1]:7']);
});

test('a name is looked up anew, and keeps its addresses while it is not found', async () => {
  const found: Parameters<typeof namedServers>[1] = { now: ['10.0.0.1'] };
  const servers = namedServers(['servers.test:7'], found);
  await take(servers, 5);
  found.now = ['10.0.0.1', '10.0.0.9'];
  expect(await take(servers, 2)).toEqual(['10.0.0.9:7', '10.0.0.1:7']);
  found.now = undefined;
  expect(await take(servers, 1)).toEqual(['10.0.0.9:7']);
  found.now = [];
  expect(await take(servers, 1)).toEqual(['10.0.0.1:7']);
  found.now = ['10.0.0.3'];
  expect(await take(servers, 2)).toEqual(['10.0.0.3:7', '10.0.0.3:7']);
  expect(servers.count).toBe(1);
});

test('a name without an address is left to gRPC, as are addresses and localhost', async () => {
  const given = ['servers.test:7', '[::1]:8', 'localhost:9', '10.1.1.1:10'];
  const servers = namedServers(given, { now: undefined });
  for (const one of [...given, ...given]) expect((await servers.next(never)).server).toEqual({ given: one });
});

describe('a look-up that hangs', () => {
  let begun: string[];
  let answers: ((found: string[]) => void)[];
  let servers: Servers;

  beforeEach(() => {
    jest.useFakeTimers();
    [begun, answers] = [[], []];
    const lookUp = (host: string) => {
      begun.push(host);
      return new Promise<string[]>((resolve) => answers.push(resolve));
    };
    servers = new Servers(['a.test:7', 'b.test:7', 'c.test:7'], undefined, new LookUps(lookUp));
  });
  afterEach(() => jest.useRealTimers());

  test('keeps a connection waiting for 1 s and the next ones not at all, and serves a later one', async () => {
    let takenCount = 0;
    const one = () => servers.next(never).then(({ server }) => [++takenCount, textOf(server)]);
    const first = one();
    await jest.advanceTimersByTimeAsync(999);
    expect(takenCount).toBe(0);
    await jest.advanceTimersByTimeAsync(1);
    expect([await first, await one()]).toEqual([
      [1, 'a.test:7'],
      [2, 'b.test:7'],
    ]);
    answers[0]?.(['10.0.0.1']);
    await jest.advanceTimersByTimeAsync(0);
    const third = one();
    await jest.advanceTimersByTimeAsync(1000);
    expect(await third).toEqual([3, 'a.test:7 at 10.0.0.1:7']);
  });

  test('has at most one other beside it, and runs once for all connections of a client', async () => {
    const calls = servers.again();
    const taken = Promise.all([servers.next(never), calls.next(never), servers.next(never)]);
    await jest.advanceTimersByTimeAsync(1000);
    await taken;
    expect(begun).toEqual(['a.test', 'b.test']);
    answers[0]?.([]);
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(['a.test', 'b.test', 'c.test']);
  });

  test('ends with the client for whoever waits, and leaves no timer', async () => {
    const closing = new AbortController();
    const waits = servers.next(closing.signal);
    await jest.advanceTimersByTimeAsync(10);
    closing.abort();
    await waits;
    expect(jest.getTimerCount()).toBe(0);
  });
});

test('the addresses that are left are those of the first round, and then all', async () => {
  const servers = namedServers(['servers.test:7', '127.0.0.1:8'], { now: ['10.0.0.1', '10.0.0.2'] });
  const left = [];
  for (let turn = 0; turn < 4; turn++) left.push((await servers.next(never)).leftCount);
  expect(left).toEqual([3, 2, 1, 3]);
});

test('other connections begin with the server that was taken last', async () => {
  const servers = namedServers(['a.test:1', '10.0.0.8:2', '10.0.0.9:3'], { now: undefined });
  await servers.next(never);
  const { server } = await servers.next(never);
  const calls = servers.again();
  const taken = [];
  for (let turn = 0; turn < 4; turn++) taken.push((await calls.next(never)).server.given);
  expect(taken).toEqual(['10.0.0.8:2', '10.0.0.9:3', 'a.test:1', server.given]);
});

describe('behind a proxy', () => {
  const names = ['grpc_proxy', 'https_proxy', 'http_proxy', 'no_grpc_proxy', 'no_proxy'];
  const before = names.map((name) => process.env[name]);
  beforeEach(() => names.forEach((name) => delete process.env[name]));
  afterEach(() =>
    names.forEach((name, at) => {
      if (before[at] === undefined) delete process.env[name];
      else process.env[name] = before[at];
    }),
  );

  test.each([
    [{ http_proxy: 'http://proxy:3128' }, undefined],
    [{ grpc_proxy: 'http://proxy:3128', no_proxy: 'other.test,.test' }, '10.0.0.1:7'],
    [{ https_proxy: 'http://proxy:3128', no_grpc_proxy: 'other.test', no_proxy: '.test' }, undefined],
  ])('a name is left to the proxy, unless the environment leaves it out: %j', async (env, address) => {
    Object.assign(process.env, env);
    expect(await take(namedServers(['servers.test:7'], { now: ['10.0.0.1'] }), 1)).toEqual([address]);
  });
});
