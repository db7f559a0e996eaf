import { openClient, safeOptions } from '../../src/redis/redis-client';
import { RedisPassword } from '../../src/redis/redis-password';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import {
  acceptedCount,
  connectionsOf,
  FIRST_PASSWORD,
  killConnections,
  NEXT_PASSWORD,
  passwordFile,
  setUser,
} from '../support/password-rotation';
import { RedisProcess, SERVER_USER } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** Servers with the password of Redis in a file, which is changed in the order of security.md and in others. */

let redis: RedisProcess;
let server: InProcessServer;
let write: (password: string) => void;
/** A reload takes up to two seconds, and longer on a busy machine. */
jest.setTimeout(60_000);

beforeEach(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  // The connection of the test stays open.
  await redis.command('ACL', 'SETUSER', 'default', 'off');
  const file = passwordFile(redis.url);
  write = file.write;
  server = await InProcessServer.start(redis.url, file.env);
});
afterEach(() =>
  closeAll(
    () => server?.closeDespiteWarnings(),
    () => redis?.close(),
  ),
);

const refusals = () =>
  server.warnings.filter(({ problem }) => /refuses the new password/.test(String(problem)));

/** The command connection and the subscriptions are there. */
const reconnected = () =>
  eventuallyPasses('the connections', async () => {
    expect(await connectionsOf(redis)).toMatchObject({ subscribed: 1 });
    expect((await connectionsOf(redis)).count).toBeGreaterThan(1);
  });

test('a password is changed without the end of a connection, and nothing is lost', async () => {
  const client = server.client();
  const kept = await client.acquire({ name: 'kept', ttlMs: 60_000 });
  const before = await connectionsOf(redis);
  const accepted = await acceptedCount([redis]);
  const ids = String(await redis.command('CLIENT', 'LIST')).match(/^id=\d+/gm);

  await setUser([redis], `>${NEXT_PASSWORD}`);
  write(NEXT_PASSWORD);
  await eventually('the new password', async () => (await acceptedCount([redis])) > accepted);
  expect(String(await redis.command('CLIENT', 'LIST')).match(/^id=\d+/gm)).toEqual(ids);
  expect(await connectionsOf(redis)).toEqual(before);
  await setUser([redis], `<${FIRST_PASSWORD}`);
  expect((await client.renew(kept.leaseId)).leaseId).toBe(kept.leaseId);

  // The password that Redis no longer knows is used by no connection.
  await killConnections([redis]);
  await reconnected();
  expect((await client.renew(kept.leaseId)).leaseId).toBe(kept.leaseId);
  await client.acquire({ name: 'later' });
  expect(refusals()).toEqual([]);
});

test('a file with a password that Redis does not know yet changes nothing, until Redis knows it', async () => {
  const client = server.client();
  write(NEXT_PASSWORD);
  await eventually('the warning', () => refusals().length === 1);
  await killConnections([redis]);
  await reconnected();
  await client.acquire({ name: 'with the password before' });

  const accepted = await acceptedCount([redis]);
  await setUser([redis], `>${NEXT_PASSWORD}`);
  await eventually('the new password', async () => (await acceptedCount([redis])) > accepted);
  await setUser([redis], `<${FIRST_PASSWORD}`);
  await killConnections([redis]);
  await reconnected();
  await client.acquire({ name: 'with the new password' });
  expect(refusals()).toHaveLength(1);
});

test('a connection that is opened after two wrong passwords in a row uses the password before them', async () => {
  const follows = new RedisPassword();
  await follows.use(FIRST_PASSWORD);
  const endpoint = { port: redis.port, username: SERVER_USER, follows };
  const clients = [openClient(endpoint, safeOptions(5000))];
  try {
    await eventually('the first connection', () => clients[0]?.status === 'ready');
    for (const wrong of ['wrong', 'also wrong']) await expect(follows.use(wrong)).rejects.toThrow('refuses');
    const later = openClient(endpoint, safeOptions(5000));
    clients.push(later);
    later.on('error', () => undefined);
    await eventually('the later connection', () => later.status === 'ready');
  } finally {
    for (const client of clients) client.disconnect();
  }
});

test('a server that no longer gets in uses the password of the file as soon as it is there', async () => {
  const client = server.client();
  await setUser([redis], `>${NEXT_PASSWORD}`, `<${FIRST_PASSWORD}`);
  await killConnections([redis]);
  await eventually('the refusal', async () =>
    client.acquire({ name: 'refused', waitMs: 0 }).then(
      () => false,
      () => true,
    ),
  );
  write(NEXT_PASSWORD);
  await reconnected();
  await eventuallyPasses('an acquire', async () => {
    await client.acquire({ name: 'again' });
  });
});

test.each(['', 'a\nb'])('a file with %j in place of one line changes nothing', async (text) => {
  write(text);
  await eventually('the warning', () =>
    server.warnings.some(({ problem }) => /must have a password, on one line/.test(String(problem))),
  );
  await killConnections([redis]);
  await reconnected();
});
