import fc from 'fast-check';
import { SLOT_COUNT, slotOfBucket } from '../../src/redis/buckets';
import { type MasterTerm, sourceRunsAlong } from '../../src/redis/topology/cluster-health';
import { ClusterMap } from '../../src/redis/topology/cluster-map';
import type { ClusterView } from '../../src/redis/topology/cluster-watch';
import { assertWithinTime } from '../support/timed-property';

const SLOT = slotOfBucket(0);
/** After a longer time without a view, the map forgets the moves of slots. */
const LONGEST_GAP_MS = 10_000;

function view(owner: string, working = true): ClusterView {
  const owners = Array.from({ length: SLOT_COUNT }, () => 'elsewhere');
  owners[SLOT] = owner;
  return { epoch: 1, working, owners, members: new Set() };
}

/** The map of a server that has always known the nodes a, b and c. The server asked for views at -5000 and 0 ms. */
function scene(owner = 'a') {
  const map = new ClusterMap();
  map.adopt(view(owner), -5000, -5000);
  map.adopt(view(owner), 0, 0);
  const terms = new Map<string, MasterTerm>(
    ['a', 'b', 'c'].map((name) => [
      name,
      { runId: `run of ${name}`, settledSince: -1, redisTimeMs: 1_000_000 },
    ]),
  );
  const change = (name: string, to: Partial<MasterTerm>) => terms.set(name, { ...terms.get(name)!, ...to });
  const sourceRuns = (to: string, now: number) =>
    sourceRunsAlong(map.pathTo(to, SLOT, now), to, (address) => terms.get(address));
  return { map, terms, change, sourceRuns };
}

describe('the source runs of a bucket that has moved in a Cluster', () => {
  it('contain the run of the former owner, if both nodes were known before the move', () => {
    const { map, sourceRuns } = scene();
    expect(map.adopt(view('b'), 5000, 5010)).toEqual([SLOT]);
    expect(sourceRuns('b', 5020)).toEqual(['run of a']);
    // A question about node c means that the slot moves from b to c.
    expect(sourceRuns('c', 5020)).toEqual(['run of b', 'run of a']);
  });

  it('contain the run of the former owner, if the server knows the move only from a redirection', () => {
    const { map, sourceRuns } = scene();
    expect(map.correct(SLOT, 'b', 100)).toEqual([SLOT]);
    expect(map.correct(SLOT, 'b', 100)).toEqual([]);
    expect(sourceRuns('b', 110)).toEqual(['run of a']);
  });

  it('contain the run of the present owner while the slot is moving', () => {
    expect(scene().sourceRuns('b', 100)).toEqual(['run of a']);
  });

  it('contain the runs of both former owners, if the slot moves twice', () => {
    const { map, sourceRuns } = scene();
    map.correct(SLOT, 'b', 100);
    map.adopt(view('c'), 200, 210);
    expect(sourceRuns('c', 220)).toEqual(['run of b', 'run of a']);
  });

  it('are empty if the slot has not moved', () => {
    const { map, sourceRuns } = scene();
    expect(map.adopt(view('a'), 5000, 5010)).toEqual([]);
    expect(sourceRuns('a', 5020)).toEqual([]);
  });

  it.each([
    ['the new owner became known after the last view: a replica that took over', 'b', 1],
    ['the epochs of the new owner are not in force yet', 'b', Infinity],
    ['the former owner restarted after the last view', 'a', 1],
  ])('are empty if %s', (_, name, settledSince) => {
    const { map, change, sourceRuns } = scene();
    change(name, { settledSince });
    map.adopt(view('b'), 5000, 5010);
    expect(sourceRuns('b', 5020)).toEqual([]);
    // A later view without changes does not prove that the earlier move lost nothing.
    map.adopt(view('b'), 10_000, 10_010);
    expect(sourceRuns('b', 10_020)).toEqual([]);
  });

  it('leave out all runs before a node on the path that took over during the move', () => {
    const { map, change, sourceRuns } = scene();
    map.correct(SLOT, 'b', 100);
    map.adopt(view('c'), 5000, 5010);
    change('b', { settledSince: 50 });
    expect(sourceRuns('c', 5020)).toEqual([]);
  });

  it('leave out the run of a node that does not answer', () => {
    const { map, terms, sourceRuns } = scene();
    terms.delete('a');
    map.adopt(view('b'), 5000, 5010);
    expect(sourceRuns('b', 5020)).toEqual([]);
  });

  it('leave out the run of a node with a slower clock, because its leases end early by the new clock', () => {
    const { map, change, sourceRuns } = scene();
    map.adopt(view('b'), 5000, 5010);
    change('a', { redisTimeMs: 1_000_000 - 100 });
    expect(sourceRuns('b', 5020)).toEqual(['run of a']);
    change('a', { redisTimeMs: 1_000_000 - 101 });
    expect(sourceRuns('b', 5020)).toEqual([]);
  });

  it('are empty if the server had no view of the Cluster for too long, before or after the move', () => {
    const late = scene();
    late.map.adopt(view('b'), LONGEST_GAP_MS, LONGEST_GAP_MS + 1);
    expect(late.sourceRuns('b', LONGEST_GAP_MS + 2)).toEqual([]);
    const later = scene();
    later.map.adopt(view('b'), 5000, 5010);
    expect(later.sourceRuns('b', 5000 + LONGEST_GAP_MS + 1)).toEqual([]);
    // The next view does not restore the move.
    later.map.adopt(view('b'), 20_000, 20_010);
    expect(later.sourceRuns('b', 20_020)).toEqual([]);
  });

  it('are empty if the Cluster did not work before the move', () => {
    const { map, sourceRuns } = scene();
    map.adopt(view('a', false), 2000, 2010);
    map.adopt(view('b'), 5000, 5010);
    expect(sourceRuns('b', 5020)).toEqual([]);
  });
});

const NODES = ['a', 'b', 'c', 'd'] as const;
type Step =
  | { readonly what: 'move' | 'take over'; readonly to: number; readonly replicaLags: boolean }
  | {
      readonly what: 'view' | 'redirection' | 'adopt all' | 'adopt' | 'another server adopts';
      readonly after: number;
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('move', 'move', 'take over'),
      to: fc.nat(NODES.length - 1),
      replicaLags: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constantFrom('view', 'redirection', 'adopt all', 'adopt', 'another server adopts'),
      after: fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 15_000 })),
    }),
  },
);

/** One bucket that moves in a Cluster with lagging replicas, and the view of one server. */
class World {
  now = 0;
  accepted = 0;
  readonly broken: string[] = [];
  private readonly map = new ClusterMap();
  private owner = 0;
  private readonly terms = NODES.map(() => 1);
  private readonly settledSince: number[] = NODES.map(() => -1);
  /** The present epoch of the bucket, and its epoch at its arrival at the present owner. */
  private epoch = 'a 1';
  private arrivedAs = 'a 1';
  /** The run that last adopted the bucket. Only this run can have granted since. */
  private lastGranting = 'a 1';
  /** True after a takeover, until a server has adopted the owner's epochs. No slot moves away during this time. */
  private isUnadopted = false;

  constructor(private readonly believesAllMasters: boolean) {
    this.refresh();
    this.refresh();
  }

  private run(node: number): string {
    return `${NODES[node]} ${this.terms[node]}`;
  }

  take(next: Step): void {
    if ('after' in next) this.now += next.after;
    switch (next.what) {
      case 'move':
        if (this.isUnadopted) return;
        this.owner = next.to;
        this.arrivedAs = this.epoch;
        return;
      case 'take over':
        // The new master may have the address of the former master or its own.
        this.owner = next.to;
        this.terms[next.to]! += 1;
        this.settledSince[next.to] = Infinity;
        if (next.replicaLags) this.epoch = this.arrivedAs;
        this.isUnadopted = true;
        return;
      case 'view':
        return this.refresh();
      case 'redirection':
        this.map.correct(SLOT, NODES[this.owner]!, this.now);
        return;
      case 'adopt all':
        this.adopt();
        this.settledSince[this.owner] = Math.min(this.settledSince[this.owner]!, this.now);
        return;
      case 'adopt':
        return this.adopt();
      case 'another server adopts':
        return this.putInForce();
    }
  }

  private refresh(): void {
    this.now += 1;
    this.map.adopt(view(NODES[this.owner]!), this.now, this.now);
  }

  private adopt(): void {
    const path = this.map.pathTo(NODES[this.owner]!, SLOT, this.now);
    const termAt = (address: string): MasterTerm => {
      const node = NODES.indexOf(address as 'a');
      return { runId: this.run(node), settledSince: this.settledSince[node]!, redisTimeMs: 0 };
    };
    const sourceRuns = this.believesAllMasters
      ? NODES.map((_, node) => this.run(node))
      : sourceRunsAlong(path, NODES[this.owner]!, termAt);
    if (this.epoch !== this.run(this.owner) && sourceRuns.includes(this.epoch)) {
      this.accepted += 1;
      if (this.epoch !== this.lastGranting) {
        this.broken.push(
          `${this.run(this.owner)} believed ${this.epoch}, but ${this.lastGranting} had granted since`,
        );
      }
    }
    this.putInForce();
  }

  private putInForce(): void {
    this.epoch = this.lastGranting = this.run(this.owner);
    this.isUnadopted = false;
  }
}

describe('source runs, in random histories of moves and failovers', () => {
  /** A history in which the present owner rightly takes over the grants of the owner before. */
  const move: Step[] = [
    { what: 'move', to: 1, replicaLags: false },
    { what: 'view', after: 1 },
    { what: 'adopt', after: 3000 },
  ];
  const histories = fc.array(step, { minLength: 5, maxLength: 40 });

  it('never contain a run that lacks grants', () => {
    let accepted = 0;
    assertWithinTime(
      fc.property(histories, (steps) => {
        const world = new World(false);
        for (const next of steps) world.take(next);
        accepted += world.accepted;
        expect(world.broken).toEqual([]);
      }),
      { examples: [[move]] },
    );
    expect(accepted).toBeGreaterThan(0);
  });

  it('contain a run that lacks grants if every present master is counted', () => {
    const world = new World(true);
    world.take({ what: 'move', to: 1, replicaLags: false });
    world.take({ what: 'another server adopts', after: 1 });
    world.take({ what: 'take over', to: 2, replicaLags: true });
    world.take({ what: 'adopt all', after: 1 });
    expect(world.broken).toHaveLength(1);
  });
});
