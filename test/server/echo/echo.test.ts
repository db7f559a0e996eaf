import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { pino } from 'pino';
import { HealthClient } from '../../../generated/typescript/grpc/health/v1/health';
import { LockServiceClient } from '../../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../../src/access/credentials';
import { readConfig } from '../../../src/server/config/config';
import { products } from '../../../src/server/products';
import { createServer, type HoldfastServer } from '../../../src/server/server';
import { acquireRequest, call, drainStream, failureOf } from '../../contract/harness';
import { metadataOf, writePolicy } from '../../contract/policy-harness';
import { eventually } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';
import { ROOT } from '../../support/root';
import { scratchFolder } from '../../support/scratch-folder';
import { runCommand } from '../../../src/dev/run-command';
import { echo } from './echo-product';
import { EchoServiceClient } from './generated/echo';

/**
 * A third product beside leases and autocomplete, with a policy and a real Redis.
 * `WRITE_ECHO=1 npx jest --config test/jest.config.cjs server/echo` writes generated/.
 */

let redis: RedisProcess;
let server: HoldfastServer;
let echoes: EchoServiceClient;
let locks: LockServiceClient;
let health: HealthClient;
const billing = metadataOf('billing');

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  const folder = scratchFolder();
  const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy.yaml')];
  writeFileSync(tokens, `billing sha256:${tokenDigest('secret-of-billing')}\n`);
  writePolicy(policy, [
    {
      identities: ['token:billing'],
      services: ['EchoService', 'LockService'],
      names: ['billing/'],
      allow: ['read', 'use'],
    },
  ]);
  const config = readConfig({
    HOLDFAST_REDIS_URL: redis.url,
    HOLDFAST_LISTEN: '127.0.0.1:0',
    HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0',
    HOLDFAST_STORE_IS_NEW: '1',
    HOLDFAST_DICTIONARY_MEMORY: '64MiB',
    HOLDFAST_AUTH_TOKENS: tokens,
    HOLDFAST_POLICY: policy,
  });
  server = createServer(config, { log: pino({ level: 'silent' }), products: [...products, echo] });
  const address = await server.listen();
  const clients = [EchoServiceClient, LockServiceClient, HealthClient] as const;
  const [one, two, three] = clients.map((Client) => new Client(address, credentials.createInsecure()));
  [echoes, locks, health] = [one as EchoServiceClient, two as LockServiceClient, three as HealthClient];
});
afterAll(async () => {
  for (const client of [echoes, locks, health]) client?.close();
  await server?.drain();
  await redis?.close();
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

test('a product of its own answers a call, checks its fields, and counts in its metric', async () => {
  const before = await metric('echo_echoes_total');
  const request = { name: 'billing/a', text: 'hello' };
  expect(await call(echoes, echoes.echo, request, { metadata: billing })).toEqual({ text: 'hello' });
  const refused = call(
    echoes,
    echoes.echo,
    { name: 'billing/a', text: 'x'.repeat(2000) },
    { metadata: billing },
  );
  expect((await failureOf(refused)).metadata.get('holdfast-reason')).toEqual(['INVALID_FIELD']);
  expect(await metric('echo_echoes_total')).toBe(before + 1);
});

test('the policy decides about its names, and nobody calls it without a credential', async () => {
  const other = await failureOf(
    call(echoes, echoes.echo, { name: 'search/a', text: '' }, { metadata: billing }),
  );
  expect(other.details).toBe(
    'token:billing does not have the permission "use" for echo "search/a"; ask the operator for the permission [NOT_ALLOWED]',
  );
  const unknown = await failureOf(call(echoes, echoes.echo, { name: 'billing/a', text: '' }));
  expect(unknown.metadata.get('holdfast-reason')).toEqual(['NO_CREDENTIAL']);
});

test('the products of Holdfast are served beside it, and health and the counts of calls know its service', async () => {
  const { lease } = await call(locks, locks.acquireLock, acquireRequest({ name: 'billing/lock' }), {
    metadata: billing,
  });
  expect(lease?.name).toBe('billing/lock');
  expect(await call(health, health.check, { service: 'echo.v1.EchoService' })).toEqual({ status: 1 });
  const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
  expect(text).toContain(
    'grpc_server_started_total{grpc_type="server_stream",grpc_service="echo.v1.EchoService"',
  );
});

test('generated/ follows from echo.proto', async () => {
  const folder = scratchFolder();
  const buf = join(ROOT, 'node_modules/.bin/buf');
  const modules = { version: 'v2', modules: [{ path: 'proto' }, { path: 'test/server/echo' }] };
  const only = ['--config', JSON.stringify(modules), '--path', 'test/server/echo/echo.proto'];
  const env = { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}` };
  const descriptors = join(folder, 'echo.binpb');
  const run = async (...args: string[]): Promise<void> => {
    const { code, stderr } = await runCommand(buf, args, { cwd: ROOT, env, timeoutMs: 60_000 });
    expect([code, stderr]).toEqual([0, '']);
  };
  await run('build', ...only, '--exclude-source-info', '--as-file-descriptor-set', '-o', descriptors);
  await run('generate', ...only, '--template', 'tools/generators/typescript/buf.gen.yaml', '-o', folder);
  for (const file of ['echo.ts', 'echo.binpb']) {
    const [made, kept] = [readFileSync(join(folder, file)), join(ROOT, 'test/server/echo/generated', file)];
    if (process.env['WRITE_ECHO'] === '1') writeFileSync(kept, made);
    expect(readFileSync(kept).equals(made)).toBe(true);
  }
});

test('a stream gets each text of its name, and ends with DRAINING when the server stops', async () => {
  const stream = echoes.watchEchoes({ name: 'billing/b' }, billing);
  const heard: string[] = [];
  stream.on('data', ({ text }: { text: string }) => heard.push(text));
  const ended = drainStream(stream);
  await eventually('the first text', async () => {
    await call(echoes, echoes.echo, { name: 'billing/other', text: 'no' }, { metadata: billing });
    await call(echoes, echoes.echo, { name: 'billing/b', text: 'yes' }, { metadata: billing });
    return heard.length > 0;
  });
  expect(new Set(heard)).toEqual(new Set(['yes']));
  await server.drain();
  expect((await ended).error?.metadata.get('holdfast-reason')).toEqual(['DRAINING']);
});
