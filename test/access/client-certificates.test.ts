import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { CredentialError } from '../../src/access/caller';
import { ClientCertificates, readAlternativeNames } from '../../src/access/client-certificates';
import { OpenCredentials } from '../../src/access/open-credentials';
import { Authority, type Wanted } from '../support/certificates';
import { ManualClock } from '../support/manual-clock';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { assertWithinTime } from '../support/timed-property';

describe('client certificates', () => {
  let authority: Authority;
  beforeAll(() => {
    authority = new Authority(scratchFolder());
  });

  const clock = new ManualClock(5000);
  const open = new OpenCredentials(clock);
  afterAll(() => open.close());

  function callerOf(wanted: Wanted, problem?: string) {
    return callerWith(new X509Certificate(readFileSync(authority.issue(wanted).cert)), problem);
  }

  function callerWith(certificate: X509Certificate, problem?: string) {
    const certificates = new ClientCertificates(clock, open);
    return certificates.find({
      authorization: [],
      connection: {},
      peerCertificate: () => ({ certificate, problem }),
    });
  }

  function refusalOf(wanted: Wanted, problem?: string): CredentialError {
    try {
      callerOf(wanted, problem);
    } catch (error) {
      if (error instanceof CredentialError) return error;
      throw error;
    }
    throw new Error('the certificate was accepted');
  }

  test.each([
    ['URI:spiffe://example.org/team-a/worker', 'spiffe://example.org/team-a/worker'],
    ['DNS:first.example,URI:spiffe://example.org/a', 'spiffe://example.org/a'],
    [
      'URI:https://example.org/x,URI:spiffe://example.org/1,URI:spiffe://example.org/2',
      'spiffe://example.org/1',
    ],
    ['DNS:Worker.Example,DNS:other.example', 'dns:worker.example'],
    ['IP:10.0.0.1,email:a@b.example,DNS:worker.example', 'dns:worker.example'],
  ])('the alternative names %s give the identity %s', (names, identity) => {
    expect(callerOf({ names })?.identity).toBe(identity);
  });

  test('a certificate that is made by the commands of docs/operations/security.md names its caller', () => {
    const page = readFileSync(join(ROOT, 'docs/operations/security.md'), 'utf8');
    const [, console = ''] = /\n### Client certificates\n[^]*?```console\n([^]*?)```/.exec(page) ?? [];
    const commands = console.split(/^\$ /m).filter((command) => /^(openssl|printf) /.test(command));
    const folder = scratchFolder();
    execFileSync('sh', ['-ec', commands.join('')], { cwd: folder, stdio: 'pipe' });
    const certificate = new X509Certificate(readFileSync(join(folder, 'billing.pem')));
    expect(callerWith(certificate)?.identity).toBe('spiffe://example.org/billing/worker');
  });

  test('the end of the certificate is the end of the credential', () => {
    const left = (callerOf({ names: 'DNS:a.example', days: 2 })?.expiresAt ?? NaN) - clock.now();
    expect(left).toBeGreaterThan(2 * 86_400_000 - 60_000);
    expect(left).toBeLessThanOrEqual(2 * 86_400_000);
  });

  test.each<[string, Wanted, string]>([
    ['with only a common name', { commonName: 'admin.example' }, 'neither a SPIFFE URI nor a DNS name'],
    ['with only an address', { names: 'IP:10.0.0.1' }, 'neither a SPIFFE URI nor a DNS name'],
    ['for a wildcard', { names: 'DNS:*.example' }, 'first DNS name'],
    ['with a SPIFFE URI without a trust domain', { names: 'URI:spiffe:///a' }, 'first SPIFFE URI'],
    ['with a SPIFFE URI with dots', { names: 'URI:spiffe://a/../b' }, 'first SPIFFE URI'],
    ['with a SPIFFE URI with percent signs', { names: 'URI:spiffe://a/%2e' }, 'first SPIFFE URI'],
    ['with a SPIFFE URI in upper case', { names: 'URI:SPIFFE://a/b,DNS:c' }, 'first SPIFFE URI'],
    [
      'with a SPIFFE URI over 256 bytes',
      { names: `URI:spiffe://a/${'b'.repeat(250)}` },
      'longer than 256 bytes',
    ],
  ])('a certificate %s is BAD_CREDENTIAL', (_title, wanted, detail) => {
    const error = refusalOf(wanted);
    expect(error.reason).toBe('BAD_CREDENTIAL');
    expect(error.detail).toContain(detail);
    expect(error.message).not.toContain(detail);
  });

  test('a certificate that TLS did not verify is BAD_CREDENTIAL', () => {
    const wanted = { names: 'DNS:a.example' };
    expect(refusalOf(wanted, 'SELF_SIGNED_CERT_IN_CHAIN').message).toContain('is not accepted');
    expect(refusalOf(wanted, 'CERT_HAS_EXPIRED').message).toContain('has expired');
  });

  test('a name with a comma and a quote does not pass for two names', () => {
    // CVE-2021-44532: a certificate for one strange name must not be read as a certificate for several names.
    const names = ['DNS:x.example, DNS:admin.example', 'DNS:second.example'];
    expect(refusalOf({ names }).detail).toContain('first DNS name');
    const quoted = ['URI:spiffe://a/b", DNS:admin.example', 'DNS:second.example'];
    expect(refusalOf({ names: quoted }).detail).toContain('first SPIFFE URI');
  });

  test.each([
    [
      'DNS:a, URI:"spiffe://x/\\", DNS:b"',
      [
        ['DNS', 'a'],
        ['URI', 'spiffe://x/", DNS:b'],
      ],
    ],
    [
      'DNS:"a\\u0000b", IP Address:::1',
      [
        ['DNS', 'a\0b'],
        ['IP Address', '::1'],
      ],
    ],
    [
      'othername:<unsupported>, DNS:a',
      [
        ['othername', '<unsupported>'],
        ['DNS', 'a'],
      ],
    ],
    ['', []],
  ])('readAlternativeNames reads %j', (text, names) => {
    expect(readAlternativeNames(text).map(({ kind, value }) => [kind, value])).toEqual(names);
  });

  test.each(['a', 'DNS:a"b"', 'DNS:"a', 'DNS:"a"b', 'DNS:a,DNS:b', 'DNS:"\\x"'])(
    'readAlternativeNames refuses %j',
    (text) => {
      expect(() => readAlternativeNames(text)).toThrow(CredentialError);
    },
  );

  test('readAlternativeNames gives back any names that Node has quoted', () => {
    const name = fc.tuple(fc.constantFrom('DNS', 'URI', 'IP Address'), fc.string());
    assertWithinTime(
      fc.property(fc.array(name), (names) => {
        const text = names.map(([kind, value]) => `${kind}:${JSON.stringify(value)}`).join(', ');
        expect(readAlternativeNames(text).map(({ kind, value }) => [kind, value])).toEqual(names);
      }),
    );
  });

  test('a certificate is read once for each connection', () => {
    const certificate = new X509Certificate(readFileSync(authority.issue({ names: 'DNS:a.example' }).cert));
    const certificates = new ClientCertificates(clock, open);
    const peerCertificate = jest.fn(() => ({ certificate, problem: undefined }));
    const call = { authorization: [], connection: {}, peerCertificate };
    expect(certificates.find(call)).toBe(certificates.find(call));
    expect(peerCertificate).toHaveBeenCalledTimes(1);
  });

  describe('a connection', () => {
    const DAY_MS = 86_400_000;

    function connect(problem?: string) {
      const certificate = new X509Certificate(
        readFileSync(authority.issue({ names: 'DNS:a.example', days: 1 }).cert),
      );
      const connection = Object.assign(new EventEmitter(), { close: jest.fn() });
      const open = new OpenCredentials(clock);
      const certificates = new ClientCertificates(clock, open);
      const peerCertificate = () => ({ certificate, problem });
      return {
        open,
        connection,
        find: () => certificates.find({ authorization: [], connection, peerCertificate }),
      };
    }

    test('is retired 10 s before its certificate ends, and refused afterwards', async () => {
      const { connection, find } = connect();
      const end = find()?.expiresAt ?? NaN;
      await clock.advance(end - clock.now() - 10_100);
      expect(connection.close).not.toHaveBeenCalled();
      await clock.advance(200);
      await new Promise(setImmediate);
      expect(connection.close).toHaveBeenCalledTimes(1);
      expect(find()?.identity).toBe('dns:a.example');
      await clock.advance(10_000);
      expect(find).toThrow('has expired');
    });

    test.each(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN'])(
      'with the problem %s is retired at its first call',
      async (problem) => {
        const { connection, find } = connect(problem);
        expect(find).toThrow(CredentialError);
        await new Promise(setImmediate);
        expect(connection.close).toHaveBeenCalledTimes(1);
      },
    );

    test('that has closed leaves nothing behind', async () => {
      const { open, connection, find } = connect();
      find();
      connection.emit('close');
      await clock.advance(DAY_MS);
      await new Promise(setImmediate);
      expect(connection.close).not.toHaveBeenCalled();
      expect(open.size).toBe(0);
    });
  });
});
