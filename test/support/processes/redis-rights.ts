import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root';

/** The lines with rights in docs/operations/deploy.md, in their order. */
const ROLES = ['servers', 'database', 'cluster', 'sentinels', 'dictionaries', 'replica'] as const;
export type Role = (typeof ROLES)[number];

/** The Redis user of servers under test. The tests themselves connect as the default user. */
export const SERVER_USER = 'holdfast';
const PASSWORD = 'a:s3cret@';
const LINE = /^\$ redis-cli (?:-p \d+ )?ACL SETUSER holdfast (.+)$/gm;
/** Tests of stores have keys and channels with this prefix instead of the default. */
const TEST_PREFIX = ['~test:*', '&test:*'];

/** User and password at the beginning of an address. */
export const credentials = `${SERVER_USER}:${encodeURIComponent(PASSWORD)}@`;

/** A value for HOLDFAST_REDIS_URL: the Redis, or the proxy, at `host:port`. */
export function serverUrl(address: string): string {
  return `redis://${credentials}${address}`;
}

/** The rules of the documented ACL SETUSER for one role, exactly as an operator would copy them. */
export function documentedRules(role: Role): readonly string[] {
  const text = readFileSync(join(ROOT, 'docs/operations/deploy.md'), 'utf8').replace(/ \\\n\s*/g, ' ');
  const lines = [...text.matchAll(LINE)].map(([, rules = '']) => rules);
  if (lines.length !== ROLES.length) throw new Error(`deploy.md has ${lines.length} lines with rights`);
  const line = lines[ROLES.indexOf(role)] as string;
  return line.split(/\s+/).map((rule) => rule.replace(/^'(.*)'$/, '$1').replace('>SECRET', `>${PASSWORD}`));
}

/** The arguments of a redis-server with the documented user. The user survives a restart. */
export function userArguments(isCluster: boolean): string[] {
  const ofCluster = isCluster ? documentedRules('cluster') : [];
  return ['--user', SERVER_USER, ...documentedRules('servers'), ...ofCluster, ...TEST_PREFIX];
}
