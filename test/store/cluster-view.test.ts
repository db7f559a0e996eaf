import { clusterHealth, isSameHealth } from '../../src/redis/topology/cluster-health';
import { bestOf, hostOf, readView, redirection } from '../../src/redis/topology/cluster-view';
import { SLOT_COUNT } from '../../src/redis/keys';

const INFO = 'cluster_enabled:1\r\ncluster_state:ok\r\ncluster_current_epoch:7\r\n';

describe("a Cluster, as one of its nodes' tells of it", () => {
  it('has the master of each slot, its replicas, and whose no slot is', () => {
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

  it.each([[null], [''], ['?']])('is at the address that was asked where it calls itself %j', (host) => {
    const view = readView(INFO, [['0', '1', [host, '7000', 'a']]], 'seed.example:6379');
    expect(view.owners[0]).toBe('seed.example:7000');
  });

  it('is believed of a node that works, and then of the one that knows of the last change', () => {
    const view = (epoch: number, working: boolean) => ({ ...readView(INFO, [], 'a:1'), epoch, working });
    expect(bestOf([view(3, true), view(5, true), view(9, false)])).toMatchObject({ epoch: 5 });
    expect(bestOf([view(3, false), view(4, false)])).toMatchObject({ epoch: 4 });
    expect(bestOf([])).toBeUndefined();
  });

  it.each([
    ['MOVED 3999 10.0.0.1:7000', { slot: 3999, address: '10.0.0.1:7000' }],
    ['ASK 3999 10.0.0.1:7000', { slot: 3999, address: '10.0.0.1:7000' }],
    ['MOVED 1 2001:db8::1:7000', { slot: 1, address: '2001:db8::1:7000' }],
    ['MOVED 1 :7000', { slot: 1, address: 'from.example:7000' }],
    ['MOVED 1 ?:7000', { slot: 1, address: 'from.example:7000' }],
    ['TRYAGAIN Multiple keys request during rehashing of slot', undefined],
    ['CLUSTERDOWN The cluster is down', undefined],
  ])('redirects: %s', (word, expected) => {
    expect(redirection(word, 'from.example:1')).toEqual(expected);
  });
});

describe('the health of a Cluster', () => {
  type Node = ReturnType<Parameters<typeof clusterHealth>[1]>;
  const up = (...warnings: string[]): Node => ({ reachable: true, suitable: true, warnings });
  const DOWN: Node = { reachable: false, suitable: true, warnings: [] };

  /** Shares the slots out among nodes called a, b, c, … */
  function health(nodes: readonly Node[], slots = SLOT_COUNT) {
    const at = (index: number) => `${String.fromCharCode(97 + index)}:1`;
    const owners = Array.from({ length: SLOT_COUNT }, (_, slot) =>
      slot < slots ? at(Math.floor((slot * nodes.length) / slots)) : undefined,
    );
    return clusterHealth(owners, (address) => nodes[address.charCodeAt(0) - 97] ?? DOWN);
  }

  it('is good while all nodes answer', () => {
    expect(health([up(), up(), up()])).toEqual({
      reachable: true,
      suitable: true,
      warnings: [],
      whole: true,
    });
  });

  it('is good enough while nodes answer that have half of the names, and says which ones do not', () => {
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

  it('says that slots have no node at all', () => {
    const { reachable, warnings, whole } = health([up()], SLOT_COUNT * 0.9);
    expect({ reachable, whole }).toEqual({ reachable: true, whole: false });
    expect(warnings).toEqual([expect.stringContaining('10 % of all names')]);
  });

  it('does not complain yet of a node that has not had the time to answer, and does not count it either', () => {
    expect(health([up(), 'new', up()])).toMatchObject({ reachable: true, whole: false, warnings: [] });
    expect(health(['new', 'new'])).toMatchObject({ reachable: false, warnings: [] });
  });

  it('is unsuitable if one node is, and names the nodes of a warning unless all have it', () => {
    const evicting: Node = { reachable: true, suitable: false, warnings: ['evicts', 'same'] };
    const { suitable, warnings } = health([evicting, up('same')]);
    expect({ suitable, warnings }).toEqual({ suitable: false, warnings: ['evicts (a:1)', 'same'] });
  });

  it('is another one when it counts or says something else', () => {
    expect(isSameHealth(health([up()]), health([up(), up()]))).toBe(true);
    expect(isSameHealth(health([up(), DOWN]), health([DOWN, up()]))).toBe(false);
  });
});
