import { redirectionOf } from '../../src/redis/failure-class';
import { SLOT_COUNT } from '../../src/redis/buckets';
import { clusterHealth, isSameHealth } from '../../src/redis/topology/cluster-health';
import { bestOf, hostOf, readView, redirectedAddress } from '../../src/redis/topology/cluster-watch';

const INFO = 'cluster_enabled:1\r\ncluster_state:ok\r\ncluster_current_epoch:7\r\n';

describe('the view of a Cluster', () => {
  it('contains the master of each slot and the replicas, and leaves slots without a master empty', () => {
    const slots = [
      ['0', '99', ['10.0.0.1', '7000', 'a'], ['10.0.0.2', '7000', 'b']],
      ['200', '200', ['::1', '7001', 'c', ['hostname', 'x']]],
    ];
    const view = readView(INFO, slots, 'seed:1');
    expect(view).toMatchObject({ epoch: 7, working: true });
    expect(view.owners).toHaveLength(SLOT_COUNT);
    expect([0, 99, 100, 199, 200, 201].map((slot) => view.owners[slot])).toEqual([
      ...['10.0.0.1:7000', '10.0.0.1:7000', undefined, undefined, '::1:7001', undefined],
    ]);
    expect([...view.members]).toEqual(['10.0.0.1:7000', '10.0.0.2:7000', '::1:7001']);
    expect(hostOf('::1:7001')).toEqual({ host: '::1', port: 7001 });
  });

  it.each([[null], [''], ['?']])(
    'puts the address of the asked node where the reply has the host %j',
    (host) => {
      const view = readView(INFO, [['0', '1', [host, '7000', 'a']]], 'seed.example:6379');
      expect(view.owners[0]).toBe('seed.example:7000');
    },
  );

  it('is preferred if its Cluster works, and among such views if its config epoch is the highest', () => {
    const view = (epoch: number, working: boolean) => ({ ...readView(INFO, [], 'a:1'), epoch, working });
    expect(bestOf([view(3, true), view(5, true), view(9, false)])).toMatchObject({ epoch: 5 });
    expect(bestOf([view(3, false), view(4, false)])).toMatchObject({ epoch: 4 });
    expect(bestOf([])).toBeUndefined();
  });

  it.each([
    ['MOVED 3999 10.0.0.1:7000', { kind: 'moved', slot: 3999, address: '10.0.0.1:7000' }],
    ['ASK 3999 10.0.0.1:7000', { kind: 'ask', slot: 3999, address: '10.0.0.1:7000' }],
    ['MOVED 1 2001:db8::1:7000', { kind: 'moved', slot: 1, address: '2001:db8::1:7000' }],
    ['MOVED 1 :7000', { kind: 'moved', slot: 1, address: 'from.example:7000' }],
    ['MOVED 1 ?:7000', { kind: 'moved', slot: 1, address: 'from.example:7000' }],
  ])('takes the new node from the redirection %s', (text, expected) => {
    const redirection = redirectionOf(new Error(text))!;
    const { kind, slot } = redirection;
    expect({ kind, slot, address: redirectedAddress(redirection, 'from.example:1') }).toEqual(expected);
  });

  it.each([
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'try-again'],
    ['CLUSTERDOWN The cluster is down', 'no-master'],
    ['READONLY You can not write against a read only replica.', 'read-only'],
    ['ERR unknown command', undefined],
  ])('takes no node from the error %s', (text, kind) => {
    expect(redirectionOf(new Error(text))?.kind).toBe(kind);
    expect(redirectionOf(new Error(text))?.slot ?? NaN).toBeNaN();
  });
});

describe('the health of a Cluster', () => {
  type Node = ReturnType<Parameters<typeof clusterHealth>[1]>;
  const up = (...warnings: string[]): Node => ({ reachable: true, suitable: true, warnings });
  const DOWN: Node = { reachable: false, suitable: true, warnings: [] };

  /** Distributes the slots among nodes named a, b, c, … */
  function health(nodes: readonly Node[], slots = SLOT_COUNT) {
    const at = (index: number) => `${String.fromCharCode(97 + index)}:1`;
    const owners = Array.from({ length: SLOT_COUNT }, (_, slot) =>
      slot < slots ? at(Math.floor((slot * nodes.length) / slots)) : undefined,
    );
    return clusterHealth(owners, (address) => nodes[address.charCodeAt(0) - 97] ?? DOWN);
  }

  it('has no warnings while all nodes answer', () => {
    expect(health([up(), up(), up()])).toEqual({
      reachable: true,
      suitable: true,
      warnings: [],
      whole: true,
    });
  });

  it('is reachable while the nodes of at least half of the names answer, and names the other nodes', () => {
    const one = health([up(), DOWN, up()]);
    expect(one).toMatchObject({ reachable: true, whole: false });
    expect(one.warnings).toEqual([
      expect.stringContaining('b:1 of the store does not answer: 33 % of all names'),
    ]);
    expect(health([up(), DOWN])).toMatchObject({ reachable: true });
    expect(health([up(), DOWN, DOWN])).toMatchObject({ reachable: false });
    expect(health([DOWN, DOWN])).toMatchObject({ reachable: false });
    expect(clusterHealth([], () => DOWN)).toMatchObject({ reachable: false, warnings: [] });
  });

  it('contains a warning about slots without a node', () => {
    const { reachable, warnings, whole } = health([up()], SLOT_COUNT * 0.9);
    expect({ reachable, whole }).toEqual({ reachable: true, whole: false });
    expect(warnings).toEqual([expect.stringContaining('10 % of all names')]);
  });

  it('contains no warning about a new node, and leaves the slots of that node out of the count', () => {
    expect(health([up(), 'new', up()])).toMatchObject({ reachable: true, whole: false, warnings: [] });
    expect(health(['new', 'new'])).toMatchObject({ reachable: false, warnings: [] });
  });

  it('is unsuitable if one node is, and names the nodes of a warning unless all nodes have the warning', () => {
    const evicting: Node = { reachable: true, suitable: false, warnings: ['evicts', 'same'] };
    const { suitable, warnings } = health([evicting, up('same')]);
    expect({ suitable, warnings }).toEqual({ suitable: false, warnings: ['evicts (a:1)', 'same'] });
  });

  it('changes when its counts or its warnings change', () => {
    expect(isSameHealth(health([up()]), health([up(), up()]))).toBe(true);
    expect(isSameHealth(health([up(), DOWN]), health([DOWN, up()]))).toBe(false);
  });
});
