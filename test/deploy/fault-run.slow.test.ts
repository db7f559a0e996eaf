import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { Authority, type Issued } from '../support/certificates';
import { AutocompleteClient } from '../support/clients/autocomplete-client';
import { duration } from '../../clients/typescript';
import { LockClient } from '../support/clients/lease-client';
import { lock, SessionStream } from '../support/clients/session-stream';
import { eventually, eventuallyPasses } from '../support/eventually';
import { freePort } from '../support/processes/child-program';
import { PrometheusProcess } from '../support/processes/prometheus-process';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { scratchFolder } from '../support/scratch-folder';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { shippedRules, shortRules } from './short-rules';

/**
 * The alerts in a Prometheus that reads two real servers: silent while all is well, and during a rolling restart, and
 * firing in faults. Faults need the rules with short times. The last test says that every alert has fired.
 */

const LEASE_TTL_MS = 10_000;
/** The ttl of the lease that a stall of its server costs. */
const STALLED_TTL_MS = 3000;
/** Short ttls, so that a slow Redis leaves renewals little time. Several, because the delay of a busy machine varies. */
const SHORT_TTLS_MS = [1500, 1750, 2000, 2500, 3000];
/** The delay of each answer of Redis: longer than the alerts permit, shorter than HOLDFAST_COMMAND_TIMEOUT. */
const DELAY_MS = 700;
/** The pause of a worker after each call, so that Prometheus and the server keep a core. */
const PAUSE_MS = 20;
const COMMANDS_PER_SECOND = 50;
/**
 * Entries with long texts fill 16 MiB quickly. A load needs four times its index, so of larger dictionaries too few stay in
 * memory at rest.
 */
const ENTRIES = Array.from({ length: 300 }, (_, id) => ({
  entryId: `${id}`,
  text: `entry ${id} ${'with a text of many words '.repeat(8)}`.trim(),
}));
const CALM_MS = 12_000;
const PATIENCE = { timeoutMs: 60_000, everyMs: 200 };

/** A busy machine is slow for seconds, and answers no scrape within a second. The shipped rules need minutes. */
const BUSY_MACHINE = ['HoldfastRedisSlow', 'HoldfastEventLoopSlow', 'HoldfastDown'];
/** A busy machine stands still for seconds, which is a stall by the shipped rules too. */
const STALLED_MACHINE = 'HoldfastEventLoopStalled';

let redis: RedisProcess;
let proxy: TcpProxy;
let servers: ServerProcess[];
let admins: string[];
let authority: Authority;
/** The certificate of the first server. */
let certificate: Issued;
let client: LockClient;
let prometheus: PrometheusProcess;
const fired = new Set<string>();

async function startServer(admin: string, listen?: string): Promise<ServerProcess> {
  const isFirst = admin === admins[0];
  return ServerProcess.start({
    redisUrl: redis.url.replace(`:${redis.port}`, `:${proxy.port}`),
    ...(listen !== undefined && { listen }),
    env: {
      HOLDFAST_ADMIN_LISTEN: admin,
      HOLDFAST_DICTIONARY_MEMORY: '16MiB',
      HOLDFAST_QUOTA_COMMANDS_PER_SECOND: String(COMMANDS_PER_SECOND),
      ...(isFirst && { HOLDFAST_TLS_CERT: certificate.cert, HOLDFAST_TLS_KEY: certificate.key }),
    },
  });
}

const firing = (file: 'short.yaml' | 'shipped.yaml'): Promise<string[]> => prometheus.firing(file);

async function fires(...names: string[]): Promise<void> {
  await eventuallyPasses(
    `the alerts ${names.join(', ')}`,
    async () => {
      expect(await firing('short.yaml')).toEqual(expect.arrayContaining(names));
    },
    PATIENCE,
  );
  for (const name of names) fired.add(name);
}

/** Waits until the windows of a former fault have passed. */
const isSilent = (name: string): Promise<void> =>
  eventuallyPasses(
    `no alert ${name}`,
    async () => {
      expect(await firing('short.yaml')).not.toContain(name);
    },
    PATIENCE,
  );

/** Fails if an alert fires that `expected` does not list. */
async function staysSilent(until: () => boolean, expected: readonly string[] = []): Promise<void> {
  const allowed = new Set([...expected, ...BUSY_MACHINE, STALLED_MACHINE]);
  while (!until()) {
    expect((await firing('short.yaml')).filter((name) => !allowed.has(name))).toEqual([]);
    expect((await firing('shipped.yaml')).filter((name) => name !== STALLED_MACHINE)).toEqual([]);
    await sleep(PATIENCE.everyMs);
  }
}

/** Holds a lease, and acquires again after each loss, until `isOver`. */
async function keepHolding(name: string, ttlMs: number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const stream = client.hold({ name, ttlMs });
    const over = setInterval(() => isOver() && stream.cancel(), 100);
    await stream.ending;
    clearInterval(over);
    await sleep(PAUSE_MS);
  }
}

async function repeat(work: () => Promise<unknown>, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    // Calls that fail are a part of the load.
    await work().catch(() => undefined);
    await sleep(PAUSE_MS);
  }
}

/** Runs the load while `work` runs. */
async function during(load: (isOver: () => boolean) => Promise<unknown>, work: () => Promise<void>) {
  let isOver = false;
  const ended = load(() => isOver);
  try {
    await work();
  } finally {
    isOver = true;
    await ended;
  }
}

/** Imports and loads a dictionary. */
async function loadDictionary(autocomplete: AutocompleteClient, name: string): Promise<void> {
  const upload = autocomplete.startImport(name);
  await upload.send(ENTRIES, ENTRIES.length);
  expect(await upload.commit()).toMatchObject({ code: 'OK' });
  await autocomplete.suggest({ dictionary: name, query: 'en' });
}

/** The part of the memory for dictionaries that the second server uses, as the alert reads it. */
async function usedShare(): Promise<number> {
  const text = await (await fetch(`http://${admins[1]}/metrics`)).text();
  const bytesOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return bytesOf('holdfast_dictionary_memory_bytes') / bytesOf('holdfast_dictionary_memory_limit_bytes');
}

function replaceCertificate(issued: Issued): void {
  for (const file of ['cert', 'key'] as const) {
    copyFileSync(issued[file], `${certificate[file]}.new`);
    renameSync(`${certificate[file]}.new`, certificate[file]);
  }
}

beforeAll(async () => {
  redis = await RedisProcess.start();
  proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'tcp' });
  authority = new Authority(scratchFolder());
  const folder = scratchFolder();
  certificate = { cert: join(folder, 'server.pem'), key: join(folder, 'server.key') };
  replaceCertificate(authority.issueForServer({ days: 90 }));
  admins = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  servers = await Promise.all(admins.map((admin) => startServer(admin)));
  client = new LockClient(servers[0]!.listen, { credentials: credentials.createSsl(authority.pem) });
  prometheus = await PrometheusProcess.start({
    targets: admins,
    rules: { 'short.yaml': shortRules(), 'shipped.yaml': shippedRules() },
  });
});

afterAll(async () => {
  await prometheus?.close();
  client?.close();
  for (const server of servers ?? []) await server.close();
  await proxy?.close();
  await redis?.cont();
  await redis?.close();
});

test('no alert fires after the start, and while servers hold leases and all is well', async () => {
  for (let count = 0; count < 5; count += 1) {
    await client.hold({ name: `calm-${count}`, ttlMs: LEASE_TTL_MS }).next('granted');
  }
  const end = performance.now() + CALM_MS;
  await staysSilent(() => performance.now() > end);
  await isSilent('HoldfastDown');
});

test('only the alerts about the restarted server itself fire while one server after another restarts', async () => {
  let restarted = false;
  const restart = async (): Promise<void> => {
    for (const [index, admin] of admins.entries()) {
      const old = servers[index]!;
      await old.term();
      servers[index] = await startServer(admin, old.listen);
    }
    restarted = true;
  };
  await during(
    (isOver) => keepHolding('rolling', LEASE_TTL_MS, isOver),
    async () => {
      await Promise.all([restart(), staysSilent(() => restarted, ['HoldfastDown', 'HoldfastNotReady'])]);
    },
  );
});

test('a certificate that ends tomorrow makes the alert about certificates fire, and a renewed one ends the alert', async () => {
  replaceCertificate(authority.issueForServer({ days: 1 }));
  await fires('HoldfastCertificateEnds');
  replaceCertificate(authority.issueForServer({ days: 90 }));
  await isSilent('HoldfastCertificateEnds');
});

test('a certificate that does not fit its key makes the alert about failed reloads fire, and the right one ends the alert', async () => {
  copyFileSync(authority.issueForServer({ days: 90 }).cert, certificate.cert);
  await fires('HoldfastReloadFails');
  replaceCertificate(authority.issueForServer({ days: 90 }));
  await isSilent('HoldfastReloadFails');
});

test('a slow connection to Redis makes the alerts about slow commands and late renewals fire', async () => {
  await during(
    (isOver) => Promise.all(SHORT_TTLS_MS.map((ttlMs) => keepHolding(`short-${ttlMs}`, ttlMs, isOver))),
    async () => {
      proxy.delay('toClient', DELAY_MS);
      await fires('HoldfastRedisSlow', 'HoldfastRenewalSlackLow').finally(() => proxy.passEverything());
    },
  );
});

test('a cut connection to Redis makes the alert about failed commands fire', async () => {
  await isSilent('HoldfastRedisFails');
  await during(
    (isOver) => repeat(() => client.get('cut'), isOver),
    async () => {
      proxy.refuseNew();
      proxy.cutAll();
      await fires('HoldfastRedisFails').finally(() => proxy.passEverything());
    },
  );
});

test('callers above a quota make the alert about refused calls fire', async () => {
  await during(
    (isOver) => Promise.all(Array.from({ length: 10 }, () => repeat(() => client.get('flood'), isOver))),
    () => fires('HoldfastOverloaded'),
  );
});

test('commands of a session above a quota make the alert about refused calls fire, and the session continues', async () => {
  await isSilent('HoldfastOverloaded');
  const session = new SessionStream(servers[1]!.listen);
  const flood = async (isOver: () => boolean): Promise<void> => {
    while (!isOver()) {
      session.run(...Array.from({ length: 10 }, () => lock('flood', { waitTimeout: duration(0) })));
      await sleep(PAUSE_MS);
    }
  };
  try {
    await during(flood, () => fires('HoldfastOverloaded'));
    const [refused] = await prometheus.query('sum(holdfast_session_failures_total{reason="QUOTA_EXCEEDED"})');
    expect(Number(refused?.value[1])).toBeGreaterThan(0);
    await eventuallyPasses('a lease after the flood', async () => {
      const command = session.run(lock('after the flood'));
      await eventually('an answer', () => session.kinds(command).length > 0);
      expect(session.kinds(command)).toEqual(['granted']);
    });
  } finally {
    session.close();
  }
});

test('dictionaries that fill their memory make the alert about their memory fire', async () => {
  const autocomplete = new AutocompleteClient(servers[1]!.listen);
  const fill = async (isOver: () => boolean): Promise<void> => {
    for (let count = 0; !isOver();) {
      // The memory stays full then, while a further dictionary could displace a longer one.
      if ((await usedShare()) > 0.9) await sleep(PAUSE_MS);
      else await loadDictionary(autocomplete, `dictionary-${count++}`);
    }
  };
  try {
    await during(fill, () => fires('HoldfastDictionaryMemoryFull'));
  } finally {
    autocomplete.close();
  }
});

test('a Redis that stands still makes the alerts about Redis, renewals and lost leases fire', async () => {
  await client.hold({ name: 'lost', ttlMs: LEASE_TTL_MS }).next('granted');
  await redis.stop();
  await fires('HoldfastNotReady', 'HoldfastRenewalsFail', 'HoldfastLeasesLost').finally(() => redis.cont());
});

test('a server that stands still makes alerts fire: unreachable, then late timers and lost leases', async () => {
  await isSilent('HoldfastLeasesLost');
  await client.hold({ name: 'stalled', ttlMs: STALLED_TTL_MS }).next('granted');
  const end = performance.now() + STALLED_TTL_MS;
  servers[0]!.stop();
  try {
    await fires('HoldfastDown');
    await sleep(end - performance.now());
  } finally {
    servers[0]!.cont();
  }
  await fires('HoldfastEventLoopStalled', 'HoldfastLeasesLost');
  const [lost] = await prometheus.query('sum(holdfast_leases_lost_total{cause="expired"})');
  expect(Number(lost?.value[1])).toBeGreaterThan(0);
  await fires('HoldfastEventLoopSlow');
});

test('a Redis that was emptied makes the alert about the quarantine fire', async () => {
  expect(await firing('short.yaml')).not.toContain('HoldfastQuarantine');
  await redis.command('FLUSHALL');
  // Each server finds out by itself. No call is needed.
  await fires('HoldfastQuarantine');
});

test('every alert has fired', () => {
  const shipped = new Set([...shippedRules().matchAll(/- alert: (\w+)/g)].map(([, name]) => name));
  expect([...fired].sort()).toEqual([...shipped].sort());
});
