import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { sayNotChecked } from '../support/not-checked';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import type { BuiltProgram } from '../support/toolchains';
import { goClient, javaClient, pythonClient, rustClient } from './toolchains';
import { scratchFolder } from '../support/scratch-folder';

/**
 * Clients in other languages read the errors with the usual helpers: `status.Details` in Go, `StatusProto` in Java,
 * `grpc_status` in Python, `tonic_types` in Rust. Each client makes the same calls, which fail in different ways, and
 * prints every result.
 * A missing toolchain is reported on stderr as "not checked".
 */

const run = promisify(execFile);
/** The first build downloads packages and compiles gRPC. */
const BUILD_TIMEOUT_MS = 900_000;

let redis: RedisProcess;
let server: ServerProcess;
let scratch: string;

beforeAll(async () => {
  scratch = scratchFolder();
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
});

afterAll(async () => {
  await server?.close();
  await redis?.close();
});

function error(code: string, reason: string, text: string): string[] {
  return [
    `code: ${code}`,
    `message: ${text} [${reason}]`,
    `trailer: ${reason}`,
    `reason: ${reason} holdfast`,
  ];
}

/** The lines that each client must print. Their order is free, because maps and details have no order. */
function expected(name: string): (string | RegExp)[] {
  const violations = [
    'name is required',
    'request_id must be a UUID of version 4 or 7',
    'ttl is -1 s and must be from 100 ms to 2 min',
  ];
  return [
    `granted: ${name} true true`,
    'code: ABORTED',
    /^message: lock ".*" is held by alice for (29|30) s more; raise wait_timeout to queue \[CONTENDED\]$/,
    'trailer: CONTENDED',
    'reason: CONTENDED holdfast',
    'metadata: holder_id=alice',
    'metadata: waiter_count=0',
    'retry: 5000',
    'code: INVALID_ARGUMENT',
    `message: ${violations.join('; ')} [INVALID_FIELD]`,
    'trailer: INVALID_FIELD',
    'reason: INVALID_FIELD holdfast',
    ...violations.map((violation) => `violation: ${violation}`),
    'released: true',
    ...error(
      'NOT_FOUND',
      'NO_SUCH_SEMAPHORE',
      `semaphore "${name}" does not exist; set its limit, or acquire with initial_limit`,
    ),
    `permits: ${name} 2`,
    ...error(
      'FAILED_PRECONDITION',
      'NEVER_FITS',
      `5 permits never fit semaphore "${name}": its limit is 3; ask for fewer permits or raise the limit`,
    ),
    'metadata: limit=3',
    'metadata: permit_count=5',
    ...error(
      'FAILED_PRECONDITION',
      'LIMIT_MISMATCH',
      `the limit of semaphore "${name}" is 3, not 4: nothing was changed; check the limit and try again`,
    ),
    'metadata: limit=3',
    'metadata: expected_limit=4',
    'released: true',
  ];
}

const CLIENTS: readonly [string, () => Promise<BuiltProgram>][] = [
  ['Go', () => goClient(scratch)],
  ['Java', javaClient],
  ['Python', pythonClient],
  ['Rust', rustClient],
];

test.each(CLIENTS)(
  'a client in %s reads code, reason, metadata, delay, violations and trailer of an error',
  async (language, build) => {
    const client = await build();
    if ('missing' in client) return sayNotChecked(`the errors in ${language}`, client.missing);
    const name = `${language}-${randomUUID()}`;
    const [program, ...args] = client.command;
    const env = { ...process.env, ...client.env };
    const { stdout } = await run(program, [...args, server.listen, name], { env, timeout: 60_000 });
    const lines = stdout.trim().split('\n');
    const wanted = expected(name);
    const unseen = wanted.filter((pattern) => !lines.some((line) => matches(line, pattern)));
    const unwanted = lines.filter((line) => !wanted.some((pattern) => matches(line, pattern)));
    expect({ unseen, unwanted, count: lines.length }).toEqual({
      unseen: [],
      unwanted: [],
      count: wanted.length,
    });
  },
  BUILD_TIMEOUT_MS,
);

function matches(line: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? line === wanted : wanted.test(line);
}
