import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tokenDigest } from '../../src/access/credentials';
import { writePolicy } from '../contract/policy-harness';
import { InProcessServer } from '../end-to-end/in-process-server';
import { CliProcess } from '../support/cli/cli-process';
import { runProgram } from '../support/cli/run-program';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

/** A server that lets `token:team` do everything below `team/`. */

let redis: RedisProcess;
let server: InProcessServer;
let tokenFile: string;

beforeAll(async () => {
  redis = await RedisProcess.start({ inMemory: true });
  const folder = scratchFolder();
  const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy')];
  tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'secret-of-team\n');
  writeFileSync(tokens, `team sha256:${tokenDigest('secret-of-team')}\n`);
  writePolicy(policy, [
    { identities: ['token:team'], services: ['LockService'], names: ['team/'], allow: ['read', 'use'] },
  ]);
  server = await InProcessServer.start(redis.url, { HOLDFAST_AUTH_TOKENS: tokens, HOLDFAST_POLICY: policy });
});

afterAll(() =>
  closeAll(
    () => server.closeDespiteWarnings(),
    () => redis.close(),
  ),
);

async function lockRun(name: string, env: Record<string, string> = {}): Promise<CliProcess> {
  const args = ['lock', 'run', name, '-a', server.address, '--timeout', '60s', '--', 'echo', 'done'];
  const cli = new CliProcess(args, { env });
  await cli.ended();
  return cli;
}

test('runs a command that the policy allows, with a token file', async () => {
  const cli = await lockRun('team/a', { HOLDFAST_TOKEN_FILE: tokenFile });
  expect(cli).toMatchObject({ exit: { code: 0 }, stdout: 'done\n', stderr: '' });
});

test.each([
  ['without a credential', 'team/a', {}],
  ['with a wrong token', 'team/a', { HOLDFAST_TOKEN: 'wrong' }],
  ['with a name that the policy does not allow', 'other/a', { HOLDFAST_TOKEN: 'secret-of-team' }],
])('does not start the command %s: 77', async (_title, name, env) => {
  const cli = await lockRun(name, env);
  expect(cli).toMatchObject({ exit: { code: 77 }, stdout: '' });
  expect(cli.stderr).toMatch(/^holdfast: .+\n$/);
});

test.each([
  ['77 if a server refuses the caller', '', 77],
  ['69 if another one does not answer', ',127.0.0.1:1', 69],
])('status --all ends with %s', async (_title, more, code) => {
  const shown = await runProgram(['status', '--all', '-a', `${server.address}${more}`]);
  expect(shown.code).toBe(code);
  expect(shown.out).toMatch(new RegExp(`^${server.address} .*credential`, 'm'));
});
