import { RedisProcess, SERVER_USER } from '../support/processes/redis-process';
import { marked } from './mutations';
import type { ScriptTest } from './test-files';
import type { ScriptTexts } from './script-texts';

/** Marks are kept in another database of Redis, where no test looks and no FLUSHDB deletes them. */
const MARKS = "redis.call('SELECT', 1)";
const TAKE = `${MARKS} local found = redis.call('SMEMBERS', 'marks') redis.call('DEL', 'marks') redis.call('SELECT', 0) return found`;

/** What the marks need beyond the rights of a server. */
const RIGHTS_TO_MARK = ['~marks', '+select', '+sadd'];

const opened = new Set<RedisProcess>();

/** From now on, the processes of the tests are known, and FLUSHALL of a test leaves the marks alone. */
export function watchRedis(): void {
  const start = RedisProcess.start.bind(RedisProcess);
  RedisProcess.start = async (options) => {
    const redis = await start(options);
    await redis.command('ACL', 'SETUSER', SERVER_USER, ...RIGHTS_TO_MARK);
    opened.add(redis);
    const [close, command] = [redis.close.bind(redis), redis.command.bind(redis)];
    redis.close = () => {
      opened.delete(redis);
      return close();
    };
    redis.command = (name, ...args) => command(name === 'FLUSHALL' ? 'FLUSHDB' : name, ...args);
    return redis;
  };
}

async function takeMarks(): Promise<string[]> {
  // A replica refuses, and has the marks of its master.
  const taken = [...opened].map((redis) => redis.command('EVAL', TAKE, 0).catch(() => []));
  const all = await Promise.all(taken);
  return (all as string[][]).flat();
}

/** Which tests execute a statement: the key is the file and the start of the statement. */
export type Coverage = ReadonlyMap<string, ReadonlySet<ScriptTest>>;

export const statementKey = (file: string, statement: number): string => `${file}:${statement}`;

/** Runs each test once with marks in the scripts. */
export async function measureCoverage(
  texts: ScriptTexts,
  tests: readonly ScriptTest[],
  files: readonly string[],
): Promise<Coverage> {
  const mark = (key: string): string =>
    `redis.call('SELECT', 1) redis.call('SADD', 'marks', '${key}') redis.call('SELECT', 0)`;
  const withMarks = texts.embed(
    new Map(
      files.map((file) => [
        file,
        marked(texts.sources.get(file) ?? '', (statement) => mark(statementKey(file, statement))),
      ]),
    ),
    // A script that only reads may not write marks.
    (text) => text.replace('flags=no-writes', 'flags=allow-oom'),
  );
  texts.use(withMarks);
  const found = new Map<string, Set<ScriptTest>>();
  for (const test of tests) {
    if ((await test.file.run(test, 60_000)) !== 'passed')
      throw new Error(`with marks in the scripts, this test does not pass: ${test.title}`);
    for (const key of await takeMarks()) {
      const executing = found.get(key) ?? new Set();
      found.set(key, executing.add(test));
    }
  }
  texts.use();
  return found;
}
