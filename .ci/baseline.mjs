// Checks that proto/baseline.binpb has each service of the contract, because `buf breaking` guards nothing that the baseline
// lacks. With --release also each call and message: a release makes the baseline anew.
//
//   node .ci/baseline.mjs [--release] [--contract FILE] [--baseline FILE]

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const root = fileURLToPath(new URL('..', import.meta.url));
const PACKAGE = 'holdfast.v1';

/** The names of a contract, such as "service LockService" and "call LockService.AcquireLock". */
function namesIn(path, withParts) {
  const { file } = fromBinary(FileDescriptorSetSchema, readFileSync(path));
  const files = file.filter((one) => one.package === PACKAGE);
  const services = files.flatMap(({ service }) => service);
  const messages = withParts ? files.flatMap(({ messageType }) => messageType) : [];
  const calls = withParts
    ? services.flatMap(({ name, method }) => method.map((one) => [name, one.name]))
    : [];
  return [
    ...services.map(({ name }) => `service ${name}`),
    ...calls.map(([service, call]) => `call ${service}.${call}`),
    ...messages.map(({ name }) => `message ${name}`),
    ...messages.flatMap(({ name, field }) => field.map((one) => `field ${name}.${one.name}`)),
  ];
}

const { values } = parseArgs({
  options: {
    release: { type: 'boolean', default: false },
    contract: { type: 'string', default: join(root, 'generated', 'descriptor.binpb') },
    baseline: { type: 'string', default: join(root, 'proto', 'baseline.binpb') },
  },
});
const known = new Set(namesIn(values.baseline, values.release));
const missing = namesIn(values.contract, values.release).filter((name) => !known.has(name));
for (const name of missing) console.error(`the baseline lacks the ${name}, so nothing guards it`);
if (missing.length > 0) {
  console.error('run: npm run generate -- --baseline');
  process.exitCode = 1;
}
