import { bucketOf } from '../../../src/redis/buckets';
import type { LeaseFixture } from './lease-fixture';
import { PREFIX } from './lease-server';

const KEYS_OF = (bucket: number) => `${PREFIX}:{${bucket}}:*`;

/** `save` copies the keys of a bucket, and `restore` brings them back, with the times of their expiry. */
const SAVE = `
for _, key in ipairs(redis.call('KEYS', 'copy of *')) do redis.call('DEL', key) end
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('COPY', key, 'copy of ' .. key) end`;
const RESTORE = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end
for _, key in ipairs(redis.call('KEYS', 'copy of *')) do redis.call('COPY', key, string.sub(key, 9)) end`;

/** Lua: the type and the content of a key, with hashes of binary values. The fields of a hash have no order. */
export const CONTENT_OF = `
local function content_of(key)
  local type, content = redis.call('TYPE', key).ok, {}
  if type == 'hash' then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do content[#content + 1] = all[i] .. '=' .. redis.sha1hex(all[i + 1]) end
    table.sort(content)
  elseif type == 'zset' then
    content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  else
    content = { redis.call('GET', key) }
  end
  return type, content
end`;

const READ = `${CONTENT_OF}
local keys = redis.call('KEYS', ARGV[1])
table.sort(keys)
local lines = {}
for i, key in ipairs(keys) do
  local type, content = content_of(key)
  lines[i] = key .. ' (' .. type .. ') until ' .. redis.call('PEXPIRETIME', key) .. ': ' .. table.concat(content, ' ')
end
return lines`;

/** A copy of all data of the bucket of a name, so that a test can run two histories from the same state. */
export class BucketCopy {
  private constructor(
    private readonly fixture: LeaseFixture,
    private readonly pattern: string,
  ) {}

  static async of(fixture: LeaseFixture, name: string): Promise<BucketCopy> {
    const copy = new BucketCopy(fixture, KEYS_OF(bucketOf(name)));
    await copy.run(SAVE);
    return copy;
  }

  restore(): Promise<unknown> {
    return this.run(RESTORE);
  }

  /** The present data of the bucket: one line for each key, with its expiry and its content. */
  async read(): Promise<string[]> {
    return (await this.run(READ)) as string[];
  }

  private run(script: string): Promise<unknown> {
    return this.fixture.redis.command('EVAL', script, 0, this.pattern);
  }
}
