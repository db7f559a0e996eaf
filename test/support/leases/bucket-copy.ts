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

/** The whole content of the keys, as hexadecimal text. The members of a set and the fields of a hash are sorted. */
const READ = `
local function hex(text) return (string.gsub(text, '.', function(c) return string.format('%02x', string.byte(c)) end)) end
local function readable(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then return { hex(redis.call('GET', key)) } end
  local values = kind == 'hash' and redis.call('HGETALL', key) or redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  local parts = {}
  for i = 1, #values, 2 do parts[#parts + 1] = hex(values[i]) .. '=' .. hex(values[i + 1]) end
  table.sort(parts)
  return parts
end
local keys = redis.call('KEYS', ARGV[1])
table.sort(keys)
local lines = {}
for i, key in ipairs(keys) do
  lines[i] = key .. ' until ' .. redis.call('PEXPIRETIME', key) .. ': ' .. table.concat(readable(key), ' ')
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
