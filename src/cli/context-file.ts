import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { UsageError } from './exit-codes';

/** Where and how to connect. A token itself is never in the file, only the path of a file with the token. */
export interface Context {
  address?: string;
  tls?: boolean;
  ca?: string;
  cert?: string;
  key?: string;
  serverName?: string;
  tokenFile?: string;
}

export interface Contexts {
  current?: string;
  /** By name. A map, because a name such as `__proto__` is a name like every other. */
  readonly contexts: Map<string, Context>;
}

const TEXTS = ['address', 'ca', 'cert', 'key', 'serverName', 'tokenFile'] as const;

/** HOLDFAST_CONTEXT_FILE, else holdfast/contexts.yaml in XDG_CONFIG_HOME or in ~/.config. */
export function contextPath(env: NodeJS.ProcessEnv): string {
  const own = env['HOLDFAST_CONTEXT_FILE'];
  if (own) return own;
  return join(
    env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'),
    'holdfast',
    'contexts.yaml',
  );
}

/** An absent file has no contexts. Throws a UsageError for a file that is not a list of contexts. */
export function readContexts(path: string): Contexts {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { contexts: new Map() };
    throw new UsageError(`the context file ${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return checked(parse(text) ?? {});
  } catch (error) {
    throw new UsageError(`the context file ${path} is invalid: ${(error as Error).message}`);
  }
}

/** Replaces the file at once, so that no reader sees a part. Only the user may read the file. */
export function writeContexts(path: string, contexts: Contexts): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${process.pid}`;
  writeFileSync(next, stringify(contexts), { mode: 0o600 });
  renameSync(next, path);
}

function checked(value: unknown): Contexts {
  const { current, contexts = {} } = record(value, 'the file', ['current', 'contexts']);
  if (current !== undefined && typeof current !== 'string') throw new Error('"current" must be a name');
  const found = new Map<string, Context>();
  for (const [name, one] of Object.entries(record(contexts, '"contexts"'))) {
    found.set(name, context(name, one));
  }
  return { ...(current !== undefined && { current }), contexts: found };
}

function context(name: string, value: unknown): Context {
  const given = record(value, `the context "${name}"`, ['tls', ...TEXTS]);
  for (const key of TEXTS) {
    if (given[key] !== undefined && typeof given[key] !== 'string') {
      throw new Error(`"${key}" of the context "${name}" must be a text`);
    }
  }
  if (given['tls'] !== undefined && typeof given['tls'] !== 'boolean') {
    throw new Error(`"tls" of the context "${name}" must be true or false`);
  }
  return given;
}

function record(value: unknown, what: string, keys?: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${what} must be a map`);
  for (const key of Object.keys(value)) {
    if (keys && !keys.includes(key)) throw new Error(`${what} has the unknown key "${key}"`);
  }
  return value as Record<string, unknown>;
}
