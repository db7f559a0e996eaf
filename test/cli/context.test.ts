import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectionSettings } from '../../src/cli/client';
import { runProgram } from '../support/cli/run-program';
import { scratchFolder } from '../support/scratch-folder';

let file: string;
let token: string;

beforeEach(() => {
  const folder = scratchFolder();
  file = join(folder, 'below', 'contexts.yaml');
  token = join(folder, 'token');
  writeFileSync(token, 'secret');
});

const context = (...args: string[]) =>
  runProgram(['context', ...args], { env: { HOLDFAST_CONTEXT_FILE: file } });
const settings = (flags: object, env: NodeJS.ProcessEnv = {}) =>
  connectionSettings(flags, { HOLDFAST_CONTEXT_FILE: file, ...env });

test('sets, chooses, lists and deletes contexts', async () => {
  expect(await context('set', 'dev', '-a', '127.0.0.1:1')).toEqual({
    out: '',
    err: 'set: context "dev"\n',
    code: 0,
  });
  await context('set', 'prod', '-a', 'a:1,b:1', '--tls', '--token-file', token);
  expect((await context('use', 'prod')).err).toBe('chosen: context "prod"\n');
  expect((await context('list')).out).toBe(`CHOSEN  NAME  ADDRESS      TLS
        dev   127.0.0.1:1  no
*       prod  a:1,b:1      yes
`);
  expect((await context('list', '-o', 'jsonl')).out).toBe(
    '{"name":"dev","chosen":false,"address":"127.0.0.1:1"}\n' +
      `{"name":"prod","chosen":true,"address":"a:1,b:1","tls":true,"tokenFile":"${token}"}\n`,
  );
  await context('delete', 'prod');
  expect(readFileSync(file, 'utf8')).toBe('contexts:\n  dev:\n    address: 127.0.0.1:1\n');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('refuses an unknown name and a damaged file, with 64', async () => {
  expect(await context('use', 'nowhere')).toMatchObject({ code: 64 });
  await context('set', 'dev', '-a', 'a:1');
  writeFileSync(file, 'contexts: [');
  expect(await context('list')).toMatchObject({ out: '', code: 64 });
  writeFileSync(file, 'contexts:\n  dev:\n    adress: a:1\n');
  expect((await context('list')).err).toContain('the context "dev" has the unknown key "adress"');
});

test('takes each value from the flag, else the environment, else the context', async () => {
  await context('set', 'dev', '-a', 'context:1', '--token-file', token);
  expect(settings({})).toEqual({
    address: 'context:1',
    isDefaultAddress: false,
    options: { token: { file: token }, addressTimeout: 2000 },
  });
  expect(settings({}, { HOLDFAST_TOKEN: 'other' })).toMatchObject({ options: { token: 'other' } });
});

test('sends the credential of a context to no other address', async () => {
  await context('set', 'dev', '-a', 'context:1', '--token-file', token);
  expect(settings({ address: 'flag:1' })).toEqual({
    address: 'flag:1',
    isDefaultAddress: false,
    options: { addressTimeout: 2000 },
  });
  expect(settings({}, { HOLDFAST_ADDRESS: 'env:1' })).toEqual({
    address: 'env:1',
    isDefaultAddress: false,
    options: { addressTimeout: 2000 },
  });
});

test('connects to 127.0.0.1:50051 without any setting, also without HOME', () => {
  expect(connectionSettings({}, { XDG_CONFIG_HOME: join(file, 'absent') })).toEqual({
    address: '127.0.0.1:50051',
    isDefaultAddress: true,
    options: { addressTimeout: 2000 },
  });
});

test.each([
  ['a certificate without its key', { cert: '/dev/null' }, '--cert and --key must be given together'],
  ['certificates without TLS', { ca: '/dev/null', tls: false }, '--no-tls contradicts the certificates'],
  ['a token file that cannot be read', { tokenFile: '/nowhere' }, 'the file /nowhere cannot be read'],
])('refuses %s', (_title, flags, text) => {
  expect(() => settings(flags)).toThrow(text);
});

test.each(['__proto__', 'constructor', 'toString'])('takes %s for a name like every other', async (name) => {
  expect(await context('use', name)).toMatchObject({ code: 64 });
  expect(await context('delete', name)).toMatchObject({ code: 64 });
  expect(() => settings({ context: name })).toThrow('there is no context');
  await context('set', 'dev', '-a', 'dev:1');
  expect(await context('set', name, '-a', 'named:1')).toMatchObject({ code: 0 });
  expect(await context('use', name)).toMatchObject({ code: 0 });
  expect(settings({}).address).toBe('named:1');
  expect((await context('list', '-o', 'jsonl')).out).toContain(
    `{"name":"${name}","chosen":true,"address":"named:1"}`,
  );
  expect(await context('delete', name)).toMatchObject({ code: 0 });
  expect((await context('list', '-o', 'jsonl')).out).toBe(
    '{"name":"dev","chosen":false,"address":"dev:1"}\n',
  );
});

test('refuses a token file that is too large, a folder and a device, before it connects', () => {
  writeFileSync(token, 'x'.repeat(65_537));
  expect(() => settings({ tokenFile: token })).toThrow(
    `the token file ${token} has 65537 bytes, more than 65536`,
  );
  expect(() => settings({ tokenFile: '/dev/zero' })).toThrow('/dev/zero is neither a file nor a pipe');
  expect(() => settings({ tokenFile: '/tmp' })).toThrow('/tmp is neither a file nor a pipe');
});

test('reads a pipe once, for all calls of the command', async () => {
  const pipe = `${token}.pipe`;
  execFileSync('mkfifo', [pipe]);
  const source = settings({ tokenFile: pipe }).options.token as () => Promise<string>;
  const writer = spawn('sh', ['-c', 'echo secret-of-pipe > "$0"', pipe]);
  expect(await Promise.all([source(), source()])).toEqual(['secret-of-pipe\n', 'secret-of-pipe\n']);
  expect(await source()).toBe('secret-of-pipe\n');
  writer.kill();
});
