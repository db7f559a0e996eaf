import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority, replacePair, type Issued } from '../support/certificates';
import { runProgram } from '../support/cli/run-program';
import { closeAll, eventuallyPasses } from '../support/eventually';
import { freePort } from '../support/processes/child-program';
import { RedisProcess, serverUrl, tlsArguments, tlsSettings } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

/** The certificates of a server with TLS on both sides: in metrics, in the log, and for `holdfast status`. */

let redis: RedisProcess;
let server: InProcessServer;
let authority: Authority;
let cert: string;
let key: string;

beforeAll(async () => {
  const folder = scratchFolder();
  authority = new Authority(folder);
  [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  use(authority.issueForServer({ days: 100 }));
  const port = await freePort();
  redis = await RedisProcess.start({ args: tlsArguments(port) });
  server = await InProcessServer.start(serverUrl(`127.0.0.1:${port}`).replace('redis:', 'rediss:'), {
    ...tlsSettings,
    HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0',
    HOLDFAST_TLS_CERT: cert,
    HOLDFAST_TLS_KEY: key,
    HOLDFAST_TLS_CLIENT_CA: authority.cert,
  });
});
afterAll(() =>
  closeAll(
    () => server.closeDespiteWarnings(),
    () => redis.close(),
  ),
);

const use = (issued: Issued) => replacePair({ cert, key }, issued);

/** The end of a certificate in seconds since 1970, as openssl tells. */
function endOf(path: string): number {
  const text = execFileSync('openssl', ['x509', '-in', path, '-noout', '-enddate'], { encoding: 'utf8' });
  return Date.parse(text.replace('notAfter=', '')) / 1000;
}

async function ends(): Promise<Record<string, number>> {
  const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
  const samples = text.matchAll(
    /^holdfast_certificate_end_timestamp_seconds\{certificate="(\S+)"\} (\S+)$/gm,
  );
  return Object.fromEntries([...samples].map(([, certificate, value]) => [certificate, Number(value)]));
}

test('the metrics have the end of each certificate in use, and that of a renewed one', async () => {
  const ofRedis = endOf(tlsSettings['HOLDFAST_REDIS_TLS_CA']!);
  const others = {
    'client-authority': endOf(authority.cert),
    'redis-authority': ofRedis,
    'redis-client': ofRedis,
  };
  expect(await ends()).toEqual({ server: endOf(cert), ...others });
  use(authority.issueForServer({ days: 200 }));
  const renewed = endOf(cert);
  await eventuallyPasses('the end of the renewed certificate', async () => {
    expect(await ends()).toEqual({ server: renewed, ...others });
  });
});

test('a metric shows that changed certificates could not be loaded, until the server has loaded the next ones', async () => {
  const failed = async (): Promise<string[]> => {
    const text = await (await fetch(`http://${server.adminAddress}/metrics`)).text();
    return text.match(/^holdfast_reload_failed\{.*$/gm) ?? [];
  };
  const shows = (value: number): Promise<void> =>
    eventuallyPasses(`the value ${value}`, async () => {
      expect(await failed()).toEqual([`holdfast_reload_failed{content="certificates"} ${value}`]);
    });
  await shows(0);
  // A certificate without its key.
  copyFileSync(authority.issueForServer({ days: 100 }).cert, cert);
  await shows(1);
  use(authority.issueForServer({ days: 100 }));
  await shows(0);
});

async function status(...args: string[]): Promise<string> {
  // The server asks for a client certificate, and answers GetServerInfo only with one.
  const { cert: own, key: ownKey } = authority.issue({ names: 'DNS:operator.example' });
  const { out, err, code } = await runProgram(
    [...['status', '--ca', authority.cert, '--cert', own, '--key', ownKey, '--timeout', '60s'], ...args],
    { env: { HOLDFAST_ADDRESS: server.address } },
  );
  expect({ err, code }).toEqual({ err: '', code: 0 });
  return out;
}

test('`holdfast status` shows the days that the certificate of the port has left', async () => {
  const out = await status();
  const end = new Date(endOf(cert) * 1000).toISOString();
  expect(out).toMatch(/^certificate +127\.0\.0\.1:\d+: \d+d(\d+h)? left, until /m);
  expect(out).toContain(`left, until ${end}`);
});

test('`holdfast status` shows the certificate of the port as json and jsonl', async () => {
  const end = endOf(cert) * 1000;
  /** The text with fixed values in place of the port, the end and the features of this build. */
  const plain = (text: string): string =>
    text
      .replace(server.address, 'ADDRESS')
      .replace(new Date(end).toISOString(), 'END')
      .replace(/("daysLeft": ?)(\d+)/, (_, name: string, days: string) => {
        expect(Number(days)).toBe(Math.floor((end - Date.now()) / 86_400_000));
        return `${name}DAYS`;
      })
      .replace(/"version": ?"[^"]+"/, '"version":"VERSION"')
      .replace(/"features": ?\[[^\]]*\]/, '"features":[]');
  expect(plain(await status('-o', 'json'))).toMatchInlineSnapshot(`
   "{
     "version":"VERSION",
     "minTtl": "0.100s",
     "maxTtl": "120s",
     "defaultTtl": "30s",
     "maxStreamAge": "3600s",
     "maxWaiterCount": 10000,
     "features":[],
     "storeState": "STORE_STATE_READY",
     "certificates": [
       {
         "address": "ADDRESS",
         "names": [
           "IP:127.0.0.1",
           "DNS:localhost"
         ],
         "endTime": "END",
         "daysLeft": DAYS
       }
     ]
   }
   "
  `);
  expect(plain(await status('-o', 'jsonl'))).toMatchInlineSnapshot(`
   "{"version":"VERSION","minTtl":"0.100s","maxTtl":"120s","defaultTtl":"30s","maxStreamAge":"3600s","maxWaiterCount":10000,"features":[],"storeState":"STORE_STATE_READY","certificates":[{"address":"ADDRESS","names":["IP:127.0.0.1","DNS:localhost"],"endTime":"END","daysLeft":DAYS}]}
   "
  `);
});

test('`holdfast status` names an address without an answer beside the certificates of the others', async () => {
  const silent = `127.0.0.1:${await freePort()}`;
  const { certificates } = JSON.parse(await status('-o', 'json', '-a', `${server.address},${silent}`)) as {
    certificates: readonly object[];
  };
  expect(certificates).toEqual([
    expect.objectContaining({ address: server.address, names: ['IP:127.0.0.1', 'DNS:localhost'] }),
    { address: silent, error: expect.stringContaining('ECONNREFUSED') as unknown },
  ]);
});

test('`holdfast status` says that the certificate of the port has ended, and ends with 69', async () => {
  const ended = authority.issueForServer({ days: -1 });
  const old = await InProcessServer.start(redis.url, {
    HOLDFAST_TLS_CERT: ended.cert,
    HOLDFAST_TLS_KEY: ended.key,
  });
  try {
    const args = ['status', '--ca', authority.cert, '--timeout', '5s', '-a', old.address];
    const { err, code } = await runProgram(args);
    expect(code).toBe(69);
    expect(err).toContain('certificate has expired');
    expect(old.warnings.map(({ msg }) => msg)).toContain('a certificate has ended');
  } finally {
    await old.closeDespiteWarnings();
  }
});
