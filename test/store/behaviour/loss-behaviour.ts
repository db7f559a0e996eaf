import { failureOf, is } from '../../support/reply-kinds';
import type { BehaviourFixture } from './behaviour-fixture';

export function lossBehaviour(opened: () => BehaviourFixture): void {
  it('grants nothing during the quarantine, and higher fencing tokens afterwards', async () => {
    const fixture = opened();
    const { one, other } = fixture;
    const resources = Array.from({ length: 6 }, () => ({ service: 'lock', name: fixture.name() }) as const);
    const tokens: bigint[] = [];
    const holders = resources.map((resource) => fixture.request(one, resource));
    for (const holder of holders) tokens.push(is('granted', await holder.try()).fencingToken);

    await fixture.flush();
    for (const [index, resource] of resources.entries()) {
      for (const server of [one, other]) {
        const failure = await failureOf(fixture.request(server, resource).try());
        expect(failure).toMatchObject({ kind: 'quarantined', carriedOut: 'no' });
        expect(failure.retryAfterMs).toBeGreaterThan(0);
      }
      is('gone', await holders[index]!.renew(holders[index]!.secret));
    }
    expect(one.store.node.quarantine?.cause).toBe('forgotten');

    await fixture.endQuarantine(resources);
    expect(one.store.node.quarantine).toBeUndefined();
    for (const [index, resource] of resources.entries()) {
      const next = is('granted', await fixture.request(other, resource).try());
      expect(next.fencingToken).toBeGreaterThan(tokens[index]!);
    }
  });
}
