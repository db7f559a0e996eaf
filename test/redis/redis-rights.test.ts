import { libraryNote } from '../../generated/redis/scripts';
import { entryScripts, loadScripts } from '../../src/autocomplete/redis/entry-replies';
import { recentsScripts } from '../../src/autocomplete/redis/redis-recents';
import { leaseScripts } from '../../src/leases/redis/redis-lease-store';
import { epochScripts } from '../../src/redis/epochs/scripts';
import { failureClassOf } from '../../src/redis/failure-class';
import { commandsIn } from '../../src/redis/node/node-answers';
import { NotPermitted } from '../../src/redis/topology/open';
import { eventually } from '../support/eventually';
import { documentedRules, RedisProcess, type Role, SERVER_USER } from '../support/processes/redis-process';
import { connectTestStore, type Store } from '../support/test-store';

/** The lines with rights in docs/operations/deploy.md, and what happens without each right. */

/** The commands that every connection sends itself. test/end-to-end/redis-user.test.ts observes them. */
const OF_CONNECTIONS = ['ping', 'time', 'info', 'config|get', 'script|load', 'eval', 'evalsha', 'eval_ro'];
/** The commands for the library of leases. */
const OF_LIBRARY = ['function|load', 'fcall'];
/** The commands that delete the libraries of earlier versions. */
const OF_OLD_LIBRARIES = ['function|list', 'function|delete'];
/** The commands that the server sends to change and list the names of dictionaries. */
const OF_NAMES = ['zadd', 'zscore', 'zrem', 'zrangebylex'];

const commandsOf = (rules: readonly string[]) =>
  rules.flatMap((rule) => (rule.startsWith('+') ? [rule.slice(1)] : [])).sort();
const calledBy = (scripts: readonly { readonly text: string }[]) =>
  scripts.flatMap(({ text }) => commandsIn(text)).map((command) => command.toLowerCase());
const sorted = (...commands: readonly string[]) => [...new Set(commands)].sort();

describe('the documented rights', () => {
  const all = [...leaseScripts, ...recentsScripts, ...entryScripts, ...epochScripts];
  const needed: [Role, string[]][] = [
    [
      'servers',
      sorted(
        ...OF_CONNECTIONS,
        ...OF_LIBRARY,
        ...OF_OLD_LIBRARIES,
        'wait',
        'ssubscribe',
        ...calledBy([...all, { text: libraryNote }]),
      ),
    ],
    [
      'dictionaries',
      sorted(...OF_CONNECTIONS, 'wait', ...OF_NAMES, ...calledBy([...entryScripts, ...epochScripts])),
    ],
    ['replica', sorted(...OF_CONNECTIONS, ...calledBy(loadScripts))],
  ];
  it.each(needed)(
    'of %s are the commands of its scripts and connections, and no others',
    (role, commands) => {
      expect(commandsOf(documentedRules(role))).toEqual(commands);
    },
  );

  it.each(['servers', 'dictionaries', 'replica', 'sentinels'] as const)(
    'of %s name each right once, and begin with `reset`',
    (role) => {
      const rules = documentedRules(role);
      expect(rules[0]).toBe('reset');
      expect(new Set(rules).size).toBe(rules.length);
      expect(rules.filter((rule) => /all|^\+@|^~\*|^&\*/.test(rule))).toEqual(
        ['+fcall', '+hgetall'].filter((one) => rules.includes(one)),
      );
    },
  );
});

describe('a server with a Redis user that lacks one right', () => {
  let redis: RedisProcess;
  let store: Store | undefined;
  /** The rules of the servers' line, for the prefix of this test's store. */
  const rules = documentedRules('servers').map((rule) => rule.replace(/^([~&])holdfast:/, '$1test:'));
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterEach(() => {
    store?.close();
    store = undefined;
  });
  afterAll(() => redis?.close());

  /** Opens a store as a user that has the line without one rule. Resolves to the refusal, or to the warnings. */
  async function openedWithout(rule: string): Promise<string[]> {
    expect(rules).toContain(rule);
    await redis.command('ACL', 'SETUSER', SERVER_USER, ...rules.filter((one) => one !== rule));
    const errors: string[] = [];
    try {
      store = await connectTestStore(redis.url, {
        serverId: 's1',
        commandTimeoutMs: 2000,
        patienceMs: 1000,
        onError: (error) => errors.push(error.message),
      });
    } catch (error) {
      return [error instanceof NotPermitted ? error.message : errors.join()];
    }
    const { node } = store;
    await eventually('a warning', () => node.warnings.length > 0);
    return [...node.warnings];
  }

  it('starts without a warning if it has all rights', async () => {
    await redis.command('ACL', 'SETUSER', SERVER_USER, ...rules);
    store = await connectTestStore(redis.url, { serverId: 's1', commandTimeoutMs: 2000 });
    expect(store.node.warnings).toEqual([]);
  });

  /** Without these rights the server works. `wait` is needed only if replicas must confirm (acknowledged-settings). */
  const [ofLibrary, ofOldLibraries] = [OF_LIBRARY, OF_OLD_LIBRARIES].map((commands) =>
    commands.map((command) => `+${command}`),
  ) as [string[], string[]];
  const mild = [
    ...['+info', '+config|get', '+ssubscribe', '+spublish', '+eval_ro', '+wait'],
    ...ofLibrary,
    ...ofOldLibraries,
  ];
  it.each(rules.filter((rule) => rule.startsWith('+') && !mild.includes(rule)))(
    'does not start without %s, and names the command',
    async (rule) => {
      const [refusal] = await openedWithout(rule);
      const command = rule.slice(1).replace('|', ' ');
      if (rule === '+time') expect(refusal).toMatch(/NOPERM.* 'time'/);
      else {
        expect(refusal?.toLowerCase()).toContain(`may not run ${command} on the keys test:*`);
        expect(refusal).toMatch('docs/operations/deploy.md#redis-user');
      }
    },
  );

  it('does not start without the keys, and names the keys', async () => {
    expect(await openedWithout('~test:*')).toEqual([
      expect.stringMatching(/other commands on the keys test:\*/),
    ]);
  });

  it.each([
    ['+info', /may not run INFO/],
    ['+config|get', /not readable/],
    ['+ssubscribe', /may not subscribe to channels/],
    ['+spublish', /may not publish to channels/],
    ['+eval_ro', /may not run EVAL_RO/],
    ['&test:*', /may not (subscribe|publish) to channels/],
  ])('starts without %s, with a warning', async (rule, warning) => {
    expect((await openedWithout(rule)).join()).toMatch(warning);
  });

  it.each(ofLibrary)('runs operations as scripts without %s, with a warning', async (rule) => {
    const warnings = await openedWithout(rule);
    const command = rule.slice(1).replace('|', ' ').toUpperCase();
    expect(warnings.join()).toContain(`may not run ${command}, so locks and semaphores run as scripts`);
    expect(store?.node.hasLibrary).toBe(false);
    const refusals = (await redis.command('ACL', 'LOG')) as unknown[];
    await store?.permits.inspect({ service: 'lock', name: 'name' });
    expect(await redis.command('ACL', 'LOG')).toHaveLength(refusals.length);
  });

  it.each(ofOldLibraries)('runs functions without %s, with a warning', async (rule) => {
    const warnings = await openedWithout(rule);
    const command = rule.slice(1).replace('|', ' ').toUpperCase();
    expect(warnings.join()).toContain(`may not run ${command}, so libraries of earlier versions stay`);
    expect(store?.node.hasLibrary).toBe(true);
  });

  it('goes on by scripts when the right to call functions is taken away later', async () => {
    await redis.command('ACL', 'SETUSER', SERVER_USER, ...rules);
    store = await connectTestStore(redis.url, { serverId: 's1', commandTimeoutMs: 2000 });
    expect(store.node.hasLibrary).toBe(true);
    await redis.command('ACL', 'SETUSER', SERVER_USER, '-fcall');
    expect(await store.permits.inspect({ service: 'lock', name: 'name' })).toMatchObject({ usedCount: 0 });
    expect(store.node.hasLibrary).toBe(false);
    await eventually('the warning', () => store?.node.warnings.some((one) => one.includes('FCALL')));
    await redis.command('ACL', 'SETUSER', SERVER_USER, '+fcall');
    await eventually('functions', () => store?.node.hasLibrary);
    expect(store.node.warnings).toEqual([]);
  });

  it('is not ready, and says why, when a right is taken away later, and is ready when the right is back', async () => {
    await redis.command('ACL', 'SETUSER', SERVER_USER, ...rules);
    store = await connectTestStore(redis.url, { serverId: 's1', commandTimeoutMs: 2000 });
    const { node } = store;
    await redis.command('ACL', 'SETUSER', SERVER_USER, '-zadd', '-memory|usage');
    await eventually('the fault', () => !node.suitable);
    expect(node.warnings).toEqual([
      expect.stringMatching(/may not run ZADD, MEMORY USAGE|MEMORY USAGE, ZADD/),
    ]);
    await redis.command('ACL', 'SETUSER', SERVER_USER, '+zadd', '+memory|usage');
    await eventually('no fault', () => node.suitable && node.warnings.length === 0);
  });

  it.each([
    "ERR The user executing the script can't run this command or subcommand script: 0a, on @user_script:1.",
    "NOPERM ACL failure in script: User holdfast has no permissions to run the 'zadd' command",
  ])('detects that a script stopped in the middle: %s', (text) => {
    expect(failureClassOf(Object.assign(new Error(text), { name: 'ReplyError' }))).toBe('stopped');
  });

  it('reports the outcome as unknown if a script stops in the middle for lack of a right', async () => {
    await redis.command('ACL', 'SETUSER', SERVER_USER, ...rules);
    store = await connectTestStore(redis.url, { serverId: 's1', commandTimeoutMs: 2000 });
    await redis.command('ACL', 'SETUSER', SERVER_USER, '-lpush');
    const recent = { entryId: '', text: 'a', payload: Buffer.alloc(0) };
    const added = store.recents.add('list', recent, 10);
    await expect(added).rejects.toMatchObject({ carriedOut: 'unknown', kind: 'unavailable' });
  });
});
