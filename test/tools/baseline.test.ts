import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

/** The check that `buf breaking` has a baseline of the whole contract. */

type Contract = ReturnType<typeof contractOf>;

const CONTRACT = join(ROOT, 'generated', 'descriptor.binpb');
const contractOf = () => fromBinary(FileDescriptorSetSchema, readFileSync(CONTRACT));

/** Runs the check with a baseline that lacks a part of the present contract. */
function check(takeAway: (contract: Contract) => void, ...args: string[]) {
  const contract = contractOf();
  takeAway(contract);
  const baseline = join(scratchFolder(), 'baseline.binpb');
  writeFileSync(baseline, toBinary(FileDescriptorSetSchema, contract));
  const program = join(ROOT, '.ci', 'baseline.mjs');
  const { status, stderr } = spawnSync(process.execPath, [program, '--baseline', baseline, ...args], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

const withoutSemaphores = ({ file }: Contract): void => {
  for (const one of file) one.service = one.service.filter(({ name }) => name !== 'SemaphoreService');
};
const withoutGetLock = ({ file }: Contract): void => {
  for (const { service } of file)
    for (const one of service) one.method = one.method.filter(({ name }) => name !== 'GetLock');
};
const withoutTtl = ({ file }: Contract): void => {
  for (const { messageType } of file)
    for (const one of messageType)
      if (one.name === 'AcquireLockRequest') one.field = one.field.filter(({ name }) => name !== 'ttl');
};

test('a baseline of the present contract passes, also for a release', () => {
  expect(check(() => undefined, '--release')).toEqual({ status: 0, stderr: '' });
});

test('a service that the baseline lacks fails', () => {
  expect(check(withoutSemaphores)).toEqual({
    status: 1,
    stderr:
      'the baseline lacks the service SemaphoreService, so nothing guards it\nrun: npm run generate -- --baseline\n',
  });
});

test.each([
  ['call LockService.GetLock', withoutGetLock],
  ['field AcquireLockRequest.ttl', withoutTtl],
])('a release fails if the baseline lacks the %s, and the daily check does not', (name, takeAway) => {
  expect(check(takeAway, '--release')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`lacks the ${name},`) as unknown,
  });
  expect(check(takeAway)).toEqual({ status: 0, stderr: '' });
});
