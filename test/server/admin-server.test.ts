import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { AdminServer } from '../../src/server/admin';

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
