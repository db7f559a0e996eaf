import type { RevokeCursor } from '../../src/leases/lease-store';
import type { AnsweringNode } from '../../src/redis/node/confirmations';
import type { Commands } from '../../src/redis/commands';
import type { GuardedReply } from '../../src/redis/commands';
import type { Reply } from '../../src/redis/writer';
import { RedisLeaseStore } from '../../src/leases/redis/redis-lease-store';

const RESOURCE = { service: 'semaphore', name: 'gpu' } as const;
const ALL = { kind: 'all-holders' } as const;
const TOKEN = { kind: 'token', fencingToken: 7n } as const;

const replyOf = (word: string, values: Reply[] = [], isRepeated = false): GuardedReply => ({
  ...{ word, followUp: 'none', news: [], redisTimeMs: 0, pauseMs: 0, values, sentAt: 0, isRepeated },
});
const cursor = (pass: string, requestId: string): Reply => ['9', pass, '5', requestId];

/** A store over commands that give these replies, one after the other. `confirmed` counts the waits for replicas. */
function storeWith(replies: readonly GuardedReply[]) {
  const left = [...replies];
  const state = { confirmed: 0 };
  const by = { confirm: () => Promise.resolve(void (state.confirmed += 1)) } as unknown as AnsweringNode;
  const send: Commands['send'] = async ({ read }) => read(left.shift() as never, 0, by);
  const store = new RedisLeaseStore({
    commands: { send } as Commands,
    guard: 'of-node',
    prefix: 'test',
    serverId: 's1',
    retentionMs: 1000,
    commandTimeoutMs: 1000,
  });
  return { store, state };
}

describe('a revocation in the store of Redis', () => {
  it('waits for replicas at the end of each pass only', async () => {
    const { store, state } = storeWith([
      replyOf('REVOKED', ['64', '0', cursor('first', 'a')]),
      replyOf('REVOKED', ['3', '0', cursor('later', '')]),
      replyOf('REVOKED', ['0', '0', cursor('later', 'a')]),
      replyOf('REVOKED', ['0', '0', []]),
    ]);
    const confirmed: number[] = [];
    let after: RevokeCursor | undefined;
    do {
      const reply = await store.revoke(RESOURCE, { target: ALL, force: false, after });
      confirmed.push(state.confirmed);
      after = reply.kind === 'revoked' ? reply.next : undefined;
    } while (after);
    expect(confirmed).toEqual([0, 1, 1, 2]);
  });

  it.each([
    ['nothing', replyOf('REVOKED', ['0', '0', []])],
    ['no semaphore', replyOf('UNKNOWN')],
  ])(
    'waits for replicas if it finds %s, because an earlier try may have revoked leases',
    async (_, reply) => {
      const { store, state } = storeWith([reply]);
      await store.revoke(RESOURCE, { target: TOKEN, force: true, after: undefined });
      expect(state.confirmed).toBe(1);
    },
  );

  it('is in doubt if a repeated command was answered with AGAIN, because the first may have revoked leases', async () => {
    const { store } = storeWith([replyOf('AGAIN', [], true), replyOf('REVOKED', ['0', '0', []])]);
    const revoking = store.revoke(RESOURCE, { target: TOKEN, force: true, after: undefined });
    await expect(revoking).rejects.toMatchObject({ carriedOut: 'unknown' });
  });

  it('is in doubt if a repeated command finds no semaphore or no lease with the token', async () => {
    for (const reply of [replyOf('UNKNOWN', [], true), replyOf('REVOKED', ['0', '0', []], true)]) {
      const { store } = storeWith([reply]);
      const revoking = store.revoke(RESOURCE, { target: TOKEN, force: false, after: undefined });
      await expect(revoking).rejects.toMatchObject({ carriedOut: 'unknown' });
    }
  });
});
