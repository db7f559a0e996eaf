import type { Option } from './option';
import { options } from './options';

export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}

/** Settings with a password in their text. */
const WITH_PASSWORD = new Set<string>(
  [options.redis, options.redisReplica, options.dictionaryRedis, options.redisSentinelAuth].map(
    ({ name }) => name,
  ),
);

/**
 * The settings that a server with this environment has, without user names and passwords. Settings that have no value
 * are left out. `env` must be valid: `readConfig` does not throw.
 */
export function shownSettings(env: NodeJS.ProcessEnv): readonly ShownSetting[] {
  return Object.values<Option<unknown>>(options).flatMap((option) => {
    const given = env[option.name] || undefined;
    const text = given ?? option.default;
    if (text === undefined || text === '') return [];
    const value = WITH_PASSWORD.has(option.name) ? withoutPassword(option, text) : text;
    return [{ name: option.name, value, isDefault: given === undefined }];
  });
}

/** An address of Redis has a form for logs. */
function withoutPassword(option: Option<unknown>, text: string): string {
  const { data } = option.schema.safeParse(text);
  const shown = (data as { shown?: unknown } | undefined)?.shown;
  return typeof shown === 'string' ? shown : '(hidden)';
}
