import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ROOT } from '../support/root';

/**
 * What the checklists of CONTRIBUTING.md promise: their files exist, and a test reports each place that leaves out a new
 * field of an acquire. checklists.slow.test.ts adds a field, and compares the reported files with the checklist.
 */

const DESCRIPTORS = fromBinary(
  FileDescriptorSetSchema,
  readFileSync(join(ROOT, 'generated/descriptor.binpb')),
);

const camel = (field: string): string => field.replace(/_./g, (pair) => pair.slice(1).toUpperCase());
const pascal = (field: string): string => camel(field).replace(/^./, (first) => first.toUpperCase());

interface Place {
  /** How the file spells a field. */
  readonly spelled: (field: string) => RegExp;
  /** The fields that do not go through the place, with the reason. */
  readonly without?: Readonly<Record<string, string>>;
}

const word = (spelled: (field: string) => string) => (field: string) => new RegExp(`\\b${spelled(field)}\\b`);
const BY_SESSION = { holder_id: 'the client tells its label once, in SessionStart' };

/**
 * The places that an acquire's field goes through, in the server, its tests, the clients, the kit and the documents. By file, or
 * by files of which one must name the field.
 */
const PLACES: Readonly<Record<string, Place>> = {
  'src/leases/service/request-fields.ts src/leases/service/lease-services.ts': { spelled: word(camel) },
  'test/leases/contract/translation.test.ts': { spelled: word(camel) },
  'test/support/clients/lease-client.ts': { spelled: word(camel) },
  'clients/conformance/server/fields.ts': { spelled: word(camel) },
  'clients/typescript/sessions/acquire-intent.ts': { spelled: word(camel), without: BY_SESSION },
  'clients/python/src/holdfast/_core/acquire_intent.py': {
    spelled: (field) => new RegExp(`\\b${field}=`),
    without: BY_SESSION,
  },
  'clients/go/intent.go': {
    spelled: (field) => new RegExp(`\\b${pascal(field)}(:| =)`),
    without: BY_SESSION,
  },
  'clients/java/src/main/java/dev/holdfast/client/Intent.java': {
    spelled: (field) => new RegExp(`\\.(set|putAll)${pascal(field)}\\(`),
    without: BY_SESSION,
  },
  'clients/rust/src/session/tasks.rs': {
    spelled: (field) => new RegExp(`\\b${field}: `),
    without: BY_SESSION,
  },
  'docs/api/locks.md docs/api/semaphores.md': {
    spelled: (field) => new RegExp(`\`${field}\``),
    without: { name: 'it needs no words' },
  },
};

const textOf = (files: string): string =>
  files
    .split(' ')
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');

function fieldsOf(message: string): string[] {
  const found = DESCRIPTORS.file.flatMap((file) => file.messageType).find(({ name }) => name === message);
  return found!.field.map(({ name }) => name);
}

test.each(['AcquireLockRequest', 'AcquirePermitsRequest'])(
  'each place of an acquire names each field of %s',
  (message) => {
    const fields = fieldsOf(message);
    expect(fields.length).toBeGreaterThan(6);
    const forgotten = Object.entries(PLACES).flatMap(([files, { spelled, without = {} }]) =>
      fields
        .filter((field) => !(field in without) && !spelled(field).test(textOf(files)))
        .map((field) => `${files}: ${message}.${field} is not named`),
    );
    expect(forgotten).toEqual([]);
  },
);

test('the checklists name files and folders that exist', () => {
  const [, ...sections] = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').split('\n## Checklist: ');
  expect(sections.map((section) => section.split('\n')[0])).toEqual([
    'a new field in a request',
    'a new RPC',
    'a new product',
    'a new script',
    'a new setting',
    'a new metric',
    'a new reason',
  ]);
  const paths = sections
    .join('\n')
    .match(/(?<=`)(src|test|clients|docs|proto|generated|tools|deploy|bench)\/[^\s`]*(?=`)/g)!;
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
