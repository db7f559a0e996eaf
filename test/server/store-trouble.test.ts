import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { probeStore } from '../../src/redis/topology/open';
import type { StoreAddress } from '../../src/base/redis-address';
import { storeTrouble } from '../../src/server/open-store';
import { freePort } from '../support/processes/child-program';
import { RedisProcess, tlsArguments } from '../support/processes/redis-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

const CERTIFICATES = join(ROOT, 'test/contract/tls');
const cert = readFileSync(join(CERTIFICATES, 'cert.pem'));
const key = readFileSync(join(CERTIFICATES, 'key.pem'));
const NO_TLS_FILES = { ca: undefined, cert: undefined, key: undefined };

describe('the reason why the store cannot be used', () => {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  let redis: RedisProcess;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
    await redis?.close();
  });

  async function portOf(server: Server): Promise<number> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  /** A server that does something with each connection. */
  function answering(onConnection: (socket: Socket) => void): Promise<number> {
    return portOf(
      createServer((socket) => {
        sockets.push(socket);
        socket.on('error', () => undefined);
        onConnection(socket);
      }),
    );
  }

  async function trouble(
    address: StoreAddress,
    errors: readonly string[] = [],
    ca?: Buffer,
  ): Promise<string> {
    const security = { tls: { ...NO_TLS_FILES, ca }, sentinelUser: undefined };
    return storeTrouble(address, await probeStore(address, security), errors);
  }

  const single = (url: string): StoreAddress => ({ kind: 'single', url, tls: url.startsWith('rediss:') });
  const at = (port: number, scheme = 'redis') => single(`${scheme}://127.0.0.1:${port}`);

  it('names the database that Redis does not have', async () => {
    const refusal = 'ERR DB index is out of range';
    expect(await trouble(at(redis.port), [refusal])).toMatch(
      /^Redis does not have the database of HOLDFAST_REDIS_URL/,
    );
  });

  it('names an HTTP server at the address', async () => {
    const port = await portOf(createHttpServer((_request, response) => response.end('hello')));
    const text = `an HTTP server answers at 127.0.0.1:${port}, not a Redis; correct the address`;
    expect(await trouble(at(port), ["Stream isn't writeable and enableOfflineQueue options is false"])).toBe(
      text,
    );
  });

  it('shows the beginning of the answer of another server', async () => {
    const port = await answering((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\nmore'));
    expect(await trouble(at(port))).toMatch(/begins with "SSH-2\.0-OpenSSH_9\.2 more"; correct the address/);
  });

  it('says that nothing listens at the address', async () => {
    expect(await trouble(single('redis://:s3cret@127.0.0.1:1'))).toBe(
      'nothing listens at 127.0.0.1:1 (connection refused); start Redis, or correct the address',
    );
    const socket = join(scratchFolder(), 'none.sock');
    expect(await trouble(single(socket))).toMatch(`there is no socket ${socket}`);
  });

  it('tells a server that does not answer from a server that closes each connection', async () => {
    const silent = await answering((socket) => void socket.resume());
    expect(await trouble(at(silent))).toMatch(/accepts connections but does not answer/);
    const closing = await answering((socket) => void socket.destroy());
    expect(await trouble(at(closing))).toMatch(/closes each connection without an answer/);
  });

  it('says which scheme is right when only one side speaks TLS', async () => {
    const tls = await portOf(createTlsServer({ cert, key }));
    expect(await trouble(at(tls))).toMatch(/expects TLS; write rediss:\/\/ in HOLDFAST_REDIS_URL/);
    const seeds = [{ host: '127.0.0.1', port: tls }];
    const cluster = { kind: 'cluster', seeds, tls: false, username: undefined, password: undefined } as const;
    expect(await trouble(cluster)).toMatch(/write rediss\+cluster:\/\//);
    expect(await trouble(at(redis.port, 'rediss'))).toMatch(/does not speak TLS; write redis:\/\//);
  });

  it('names the settings of TLS when the certificate is not accepted', async () => {
    const port = await portOf(createTlsServer({ cert, key }));
    expect(await trouble(at(port, 'rediss'))).toMatch(/TLS connection to .* fails: .*HOLDFAST_REDIS_TLS_CA/);
  });

  it('recognises the TLS port of a Redis that requires client certificates', async () => {
    const port = await freePort();
    const secured = await RedisProcess.start({ appendfsync: 'no', args: tlsArguments(port) });
    try {
      expect(await trouble(at(port))).toMatch(/expects TLS; write rediss:\/\//);
      expect(await trouble(at(port, 'rediss'), [], cert)).toMatch(/HOLDFAST_REDIS_TLS_CERT/);
    } finally {
      await secured.close();
    }
  });

  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', /refuses the user or the password/],
    ['NOAUTH Authentication required.', /requires a password; set user and password in HOLDFAST_REDIS_URL/],
    [
      "NOPERM this user has no permissions to run the 'info' command",
      /lacks a permission \(NOPERM.*'info'.*docs\/operations\/deploy\.md#redis/,
    ],
    ['DENIED Redis is running in protected mode', /protected mode/],
    ['LOADING Redis is loading the dataset in memory', /start again when Redis has loaded/],
    ['ERR This instance has cluster support disabled', /not part of a Cluster; use redis:\/\//],
  ])('explains the refusal of a Redis: %s', async (error, text) => {
    expect(await trouble(at(redis.port), [error, 'Connection is closed.'])).toMatch(text);
  });

  it('names both settings with a password for an address of sentinels', async () => {
    const sentinels = [{ host: '127.0.0.1', port: redis.port }];
    const none = { username: undefined, password: undefined };
    const address = { kind: 'sentinel', sentinels, master: 'm', db: 0, tls: false, ...none } as const;
    expect(await trouble(address, ['NOAUTH Authentication required.'])).toMatch(
      /HOLDFAST_REDIS_URL for Redis, and in HOLDFAST_REDIS_SENTINEL_AUTH for the sentinels/,
    );
    expect(await trouble(address, ["ERR unknown command 'SENTINEL', with args"])).toMatch(
      /a Redis answers instead of a sentinel/,
    );
  });

  it('describes at most three hosts of an address', async () => {
    const seeds = [1, 2, 3, 4].map((port) => ({ host: '127.0.0.1', port }));
    const none = { username: undefined, password: undefined };
    const text = await trouble({ kind: 'cluster', seeds, tls: false, ...none });
    expect(text.match(/nothing listens at/g)).toHaveLength(3);
    expect(text.endsWith('; …')).toBe(true);
  });

  it('repeats the last telling error when a Redis answers without a known refusal', async () => {
    const errors = [
      'ERR a new kind of error',
      "Stream isn't writeable and enableOfflineQueue options is false",
    ];
    expect(await trouble(at(redis.port), errors)).toBe('ERR a new kind of error');
    expect(await trouble(at(redis.port))).toMatch(/a Redis answers there, but is not usable yet/);
  });
});
