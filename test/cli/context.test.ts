import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectionSettings } from '../../src/cli/connection/settings';
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
    options: { token: { file: token } },
  });
  expect(settings({}, { HOLDFAST_TOKEN: 'other' })).toMatchObject({ options: { token: 'other' } });
});

test('sends the credential of a context to no other address', async () => {
  await context('set', 'dev', '-a', 'context:1', '--token-file', token);
  expect(settings({ address: 'flag:1' })).toEqual({
    address: 'flag:1',
    isDefaultAddress: false,
    options: {},
  });
  expect(settings({}, { HOLDFAST_ADDRESS: 'env:1' })).toEqual({
    address: 'env:1',
    isDefaultAddress: false,
    options: {},
  });
});

test('connects to 127.0.0.1:50051 without any setting, also without HOME', () => {
  expect(connectionSettings({}, { XDG_CONFIG_HOME: join(file, 'absent') })).toEqual({
    address: '127.0.0.1:50051',
    isDefaultAddress: true,
    options: {},
  });
});

test.each([
  ['a certificate without its key', { cert: '/dev/null' }, '--cert and --key must be given together'],
  ['certificates without TLS', { ca: '/dev/null', tls: false }, '--no-tls contradicts the certificates'],
  ['a token file that cannot be read', { tokenFile: '/nowhere' }, 'the file /nowhere cannot be read'],
])('refuses %s', (_title, flags, text) => {
  expect(() => settings(flags)).toThrow(text);
});
