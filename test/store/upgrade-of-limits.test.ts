import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Resource } from '../../src/leases/lease';
import { bucketOf } from '../../src/redis/buckets';
import { namesKeys } from '../../src/leases/redis/lease-keys';
import { allListed, sortedNames } from '../support/leases/lease-views';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { PREFIX } from '../support/leases/lease-server';
import { is } from '../support/reply-kinds';
import { ROOT } from '../support/root';

/** The script in the step that puts set limits into the index, for the prefix of the tests. */
function documentedScript(): string {
  const page = readFileSync(join(ROOT, 'docs/operations/upgrade.md'), 'utf8');
  const text = /redis-cli -e EVAL "(.*?)" 0 "\$cursor"/s.exec(page)?.[1];
  if (text === undefined) throw new Error('docs/operations/upgrade.md lacks the step');
  return text.replace("'holdfast:{*}", `'${PREFIX}:{*}`);
}

describe('the step of docs/operations/upgrade.md for set limits', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open();
  });
  afterAll(() => fixture.close());

  async function runStep(): Promise<void> {
    let cursor = '0';
    do {
      cursor = String(await fixture.redis.command('EVAL', documentedScript(), '0', cursor));
    } while (cursor !== '0');
  }

  async function listed(): Promise<string[]> {
    return sortedNames(await allListed((await fixture.server('s1')).store, 'semaphore'));
  }

  it('brings semaphores with a set limit back into lists, whatever their names are', async () => {
    const names = ['gpu', 'with space', `"it's"`, 'x}:s:limit:y', '{a}', ':limit:', 'ä€\u{1F600}', '\\n$(x)'];
    // More keys than one script looks at.
    for (let i = 0; i < 1200; i += 1) names.push(`many-${i}`);
    const semaphores = names.map((name): Resource => ({ service: 'semaphore', name }));
    for (const semaphore of semaphores) is('set', await fixture.setLimit(semaphore, 3));
    // Such a key looks like a limit to the pattern of SCAN.
    const lock = { service: 'lock', name: 'x}:s:limit:y' } as const;
    is('granted', await (await fixture.request('s1', lock)).try());
    for (const semaphore of semaphores) {
      const [index] = namesKeys(PREFIX, 'semaphore', bucketOf(semaphore.name));
      await fixture.redis.command('DEL', index, fixture.key(semaphore, 'state'));
    }
    expect(await listed()).toEqual([]);
    await runStep();
    expect(await listed()).toEqual([...names].sort());
    await runStep();
    expect(await listed()).toEqual([...names].sort());
    const keys = (await fixture.redis.command('KEYS', '*:s2:names')) as string[];
    const buckets = new Set(names.map((name) => bucketOf(name)));
    expect(keys).toHaveLength(buckets.size);
  });
});
