import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkOf } from '../../src/base/callers';
import { AdminServer } from '../../src/server/admin';
import { eventuallyPasses } from '../support/eventually';

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
  await eventuallyPasses('the second answer', () => expect(chunks.join('')).toMatch(/page[^]*\r\n\r\npage$/));
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
