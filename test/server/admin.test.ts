import { networkOf } from '../../src/rpc/entry/arrival';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Quarantine } from '../../src/base/store-state';
import { AdminServer, type Phase, probePages } from '../../src/server/admin';
import { FakeStore } from '../contract/fake-engines';
import { eventuallyPasses } from '../support/eventually';

describe('admin server', () => {
  /** The HTTP server of the admin port, without the pages of the product. */

  const LOOPBACK = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;

  let makeCount = 0;
  let makePage: () => Promise<string> = () => Promise.resolve('page');
  const defects: unknown[] = [];
  const server = new AdminServer(
    {
      '/page': async () => {
        makeCount += 1;
        return { status: 200, contentType: 'text/plain', body: await makePage() };
      },
      '/live': () => ({ status: 200, contentType: 'text/plain', body: 'live' }),
    },
    '/live',
    (error) => defects.push(error),
  );
  let address = '';
  beforeAll(async () => {
    address = await server.listen(LOOPBACK);
  });
  afterAll(() => server.close());

  const get = (path: string, init?: RequestInit) => fetch(`http://${address}${path}`, init);

  test('answers GET and HEAD of a page, with or without a query', async () => {
    const answer = await get('/page?x=1');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/plain',
      'page',
    ]);
    const head = await get('/page', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '4', '']);
  });

  test('answers 404 for an unknown page, and 405 for another method', async () => {
    const unknown = await get('/constructor');
    expect([unknown.status, await unknown.text()]).toEqual([
      404,
      'there is no such page; the pages are /page, /live\n',
    ]);
    const posted = await get('/page', { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  test('makes a page once for requests at the same time', async () => {
    let finish!: (text: string) => void;
    makePage = () => new Promise((resolve) => (finish = resolve));
    makeCount = 0;
    const sockets = [1, 2, 3].map(() => get('/page'));
    // The second and the third request wait for the page of the first.
    while (makeCount === 0) await new Promise(setImmediate);
    const late = get('/page');
    const answered = Promise.all([...sockets, late].map(async (one) => (await one).text()));
    const finishAll = setInterval(() => finish('made'), 10);
    expect(await answered).toEqual(['made', 'made', 'made', 'made']);
    clearInterval(finishAll);
    expect(makeCount).toBeLessThan(4);
    makePage = () => Promise.resolve('page');
  });

  test('answers 500 when a page cannot be made, and reports the error', async () => {
    const failure = new Error('no page');
    makePage = () => Promise.reject(failure);
    const answer = await get('/page');
    expect([answer.status, await answer.text()]).toEqual([
      500,
      'the page could not be made; the log says why\n',
    ]);
    expect(defects).toEqual([failure]);
    makePage = () => Promise.resolve('page');
  });

  test('rejects with the address and the cause when another program listens there', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const second = new AdminServer({}, '/live', () => undefined);
    await expect(second.listen({ ...LOOPBACK, port })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another program already listens there`,
    );
    await second.close();
    taken.close();
  });

  test('close ends connections that wait in the middle of a request', async () => {
    const closing = new AdminServer({}, '/live', () => undefined);
    const [host, port] = (await closing.listen(LOOPBACK)).split(':');
    const socket = connect(Number(port), host);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET /page HTTP/1.1\r\n');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await closing.close();
    await closed;
    await closing.close();
  });
});

describe('admin connections', () => {
  /** Many slow clients at the admin port. */

  /** More connections than the port keeps, of one address or of all. */
  const MANY = 120;

  let server: AdminServer;
  let port = 0;
  const opened: Socket[] = [];
  let makePage: () => Promise<string>;

  beforeEach(async () => {
    makePage = () => Promise.resolve('page');
    const text = (body: string) => ({ status: 200, contentType: 'text/plain', body });
    server = new AdminServer(
      { '/page': async () => text(await makePage()), '/live': () => text('live') },
      '/live',
      () => undefined,
    );
    const address = await server.listen({ kind: 'tcp', host: '127.0.0.1', port: 0 });
    port = Number(address.split(':').at(-1));
  });
  afterEach(async () => {
    for (const socket of opened.splice(0)) socket.destroy();
    await server.close();
  });

  async function open(localAddress = '127.0.0.1'): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    opened.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  async function openSlow(count: number, localAddress?: string): Promise<Socket[]> {
    const sockets = await Promise.all(Array.from({ length: count }, () => open(localAddress)));
    for (const socket of sockets) socket.write('GET /page HTTP/1.1\r\nHost: x\r\n');
    return sockets;
  }

  /** The answer of a new connection, which sends its request at once. Empty: the connection ended without an answer. */
  async function ask(path: string, localAddress?: string): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1', ...(localAddress && { localAddress }) });
    opened.push(socket);
    socket.on('error', () => undefined);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    return answer;
  }

  test.each(['/live', '/page'])('%s answers while one address holds many slow connections', async (path) => {
    await openSlow(MANY);
    for (let count = 0; count < 20; count += 1) expect(await ask(path)).toContain('200 OK');
  });

  test('a request that comes with many new connections at once is answered', async () => {
    const slow = openSlow(MANY);
    const asked = ask('/live');
    const moreSlow = openSlow(MANY);
    expect(await asked).toContain('200 OK');
    await Promise.all([slow, moreSlow]);
  });

  test('the oldest connection without a request ends first, and those of other addresses stay', async () => {
    const other = await openSlow(2, '127.0.0.2');
    const first = await openSlow(16);
    const oldest = first[0]!;
    const closed = once(oldest, 'close');
    await openSlow(1);
    await closed;
    for (const socket of [...other, ...first.slice(1)]) {
      const answered = once(socket, 'data');
      socket.write('\r\n');
      expect(String((await answered)[0])).toContain('200 OK');
    }
  });

  test('many addresses with few connections each leave a probe its answer', async () => {
    for (let last = 2; last < 20; last += 1) await openSlow(10, `127.0.0.${last}`);
    expect(await ask('/page')).toContain('200 OK');
    const open = opened.filter((socket) => !socket.destroyed && socket.readyState === 'open');
    await eventuallyPasses('at most 64 connections are open', () => {
      expect(open.filter((socket) => !socket.readableEnded && !socket.destroyed).length).toBeLessThanOrEqual(
        64,
      );
    });
  });

  test('liveness answers while as many requests as the port keeps wait for their page', async () => {
    let finish!: (text: string) => void;
    const made = new Promise<string>((resolve) => (finish = resolve));
    makePage = () => made;
    const waiting = Array.from({ length: 16 }, () => ask('/page'));
    for (let count = 0; count < 20; count += 1) expect(await ask('/live')).toContain('200 OK');
    finish('page');
    expect(await Promise.all(waiting)).toEqual(Array(16).fill(expect.stringContaining('200 OK')));
  });

  test('a connection may ask for several pages, and ends after the answer of liveness', async () => {
    const socket = await open();
    const chunks: string[] = [];
    socket.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
    const closed = once(socket, 'close');
    const get = (path: string): void => void socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    get('/page');
    await eventuallyPasses('the first answer', () => expect(chunks.join('')).toMatch(/page$/));
    get('/page');
    await eventuallyPasses('the second answer', () =>
      expect(chunks.join('')).toMatch(/page[^]*\r\n\r\npage$/),
    );
    get('/live');
    await closed;
    expect(chunks.join('')).toMatch(/live$/);
  });

  test.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::5', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
  ])('the client of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('probe pages', () => {
  /** The pages `/livez` and `/readyz`. */

  interface Situation {
    readonly phase?: Phase;
    readonly unloadedCount?: number;
    readonly reachable?: boolean;
    readonly suitable?: boolean;
    readonly warnings?: readonly string[];
    readonly quarantine?: Quarantine;
  }

  async function answer(
    path: string,
    { phase = 'serving', unloadedCount = 0, ...health }: Situation,
    connected = true,
  ) {
    const store = Object.assign(new FakeStore(), { warnings: [], ...health });
    const pages = probePages({ phase, unloadedCount, store: connected ? store : undefined });
    const { status, body } = await pages[path]!();
    return [status, JSON.parse(body)] as const;
  }

  test('/livez answers 200 whatever the store does', async () => {
    expect(await answer('/livez', { reachable: false })).toEqual([200, { live: true }]);
    expect(await answer('/livez', { phase: 'starting' }, false)).toEqual([200, { live: true }]);
  });

  test('/readyz answers 200 while the store answers', async () => {
    expect(await answer('/readyz', {})).toEqual([200, { ready: true }]);
  });

  test('/readyz answers 200 in a quarantine, and says that grants are paused', async () => {
    const quarantine = { cause: 'restarted', remainingMs: 4200 } as const;
    expect(await answer('/readyz', { quarantine })).toEqual([
      200,
      { ready: true, grants: 'paused: quarantine (restarted), 5 s left' },
    ]);
  });

  test.each<readonly [Situation, boolean, readonly string[]]>([
    [{ phase: 'starting' }, false, ['the server is starting']],
    [{ unloadedCount: 2 }, true, ['dictionaries of HOLDFAST_PRELOAD that are not loaded yet: 2']],
    [{ phase: 'draining' }, true, ['the server is draining']],
    [{ reachable: false, warnings: ['maxmemory'] }, true, ['the store does not answer']],
    [
      { suitable: false, warnings: ['maxmemory-policy is allkeys-lru'] },
      true,
      ['the store may drop leases', 'maxmemory-policy is allkeys-lru'],
    ],
  ])('/readyz answers 503 with the reasons: %j', async (situation, connected, reasons) => {
    expect(await answer('/readyz', situation, connected)).toEqual([503, { ready: false, reasons }]);
  });
});
