import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ROOT } from '../support/root';

/**
 * The places that an acquire's field goes through, in the server, its tests, the clients, the kit and the documents. Nothing
 * else reports a field that one of them leaves out. The text of a failure has a line for each file and field, and the
 * checklist of CONTRIBUTING.md for a new field names the files.
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

/** By file, or by files of which one must name the field. */
const PLACES: Readonly<Record<string, Place>> = {
  'src/leases/service/request-fields.ts src/leases/service/lease-services.ts': { spelled: word(camel) },
  'test/contract/translation.test.ts': { spelled: word(camel) },
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
