import fc from 'fast-check';
import { ClusterMap } from '../../src/redis/topology/cluster-map';
import { sourceRunsAlong, type MasterTerm } from '../../src/redis/topology/cluster-quarantine';
import type { ClusterView } from '../../src/redis/topology/cluster-view';
import { SLOT_COUNT, slotOfBucket } from '../../src/redis/keys';

const SLOT = slotOfBucket(0);
/** Without a look for longer than this, nothing is known of what was meanwhile. */
const LONGEST_GAP_MS = 10_000;

function view(owner: string, working = true): ClusterView {
  const owners = Array.from({ length: SLOT_COUNT }, () => 'elsewhere');
  owners[SLOT] = owner;
  return { epoch: 1, working, owners, members: new Set() };
}

/** A server that has known `a`, `b` and `c` from the start, and has looked at the map every five seconds, the last time at 0. */
function watched(owner = 'a') {
  const map = new ClusterMap();
  map.adopt(view(owner), -5000, -5000);
  map.adopt(view(owner), 0, 0);
  const nodes = new Map<string, MasterTerm>(
    ['a', 'b', 'c'].map((name) => [name, { run: `run of ${name}`, knownSince: -1, clock: 1_000_000 }]),
  );
  const change = (name: string, to: Partial<MasterTerm>) => nodes.set(name, { ...nodes.get(name)!, ...to });
  const givers = (to: string, now: number) =>
    sourceRunsAlong(map.pathTo(to, SLOT, now), to, (address) => nodes.get(address));
  return { map, nodes, change, givers };
}

describe('a bucket that has moved in a Cluster was given whole', () => {
  it('by the node that the map named before, to one that was there before', () => {
    const { map, givers } = watched();
    expect(map.adopt(view('b'), 5000, 5010)).toEqual([SLOT]);
    expect(givers('b', 5020)).toEqual(['run of a']);
    expect(givers('c', 5020)).toEqual(['run of b', 'run of a']); // it is just coming there, say those who ask
  });

  it('where only a command was told of it', () => {
    const { map, givers } = watched();
    expect(map.correct(SLOT, 'b', 100)).toEqual([SLOT]);
    expect(map.correct(SLOT, 'b', 100)).toEqual([]);
    expect(givers('b', 110)).toEqual(['run of a']);
  });

  it('before anybody is told, by its owner as the map has it', () => {
    expect(watched().givers('b', 100)).toEqual(['run of a']);
  });

  it('by each on the way where it went on at once', () => {
    const { map, givers } = watched();
    map.correct(SLOT, 'b', 100);
    map.adopt(view('c'), 200, 210);
    expect(givers('c', 220)).toEqual(['run of b', 'run of a']);
  });

  it('by nobody where it has not moved', () => {
    const { map, givers } = watched();
    expect(map.adopt(view('a'), 5000, 5010)).toEqual([]);
    expect(givers('a', 5020)).toEqual([]);
  });

  it.each([
    ['the new one was not known when the map was confirmed last: a replica that took over', 'b', 1],
    ['the new one has epochs that are not yet in force', 'b', Infinity],
    ['the old one was restarted since', 'a', 1],
  ])('by nobody where %s', (_, name, knownSince) => {
    const { map, change, givers } = watched();
    change(name, { knownSince });
    map.adopt(view('b'), 5000, 5010);
    expect(givers('b', 5020)).toEqual([]);
    // What has come from there later is another matter, what came before is not.
    map.adopt(view('b'), 10_000, 10_010);
    expect(givers('b', 10_020)).toEqual([]);
  });

  it('by nobody before one that took over on the way', () => {
    const { map, change, givers } = watched();
    map.correct(SLOT, 'b', 100);
    map.adopt(view('c'), 5000, 5010);
    change('b', { knownSince: 50 });
    expect(givers('c', 5020)).toEqual([]);
  });

  it('by nobody who does not answer', () => {
    const { map, nodes, givers } = watched();
    nodes.delete('a');
    map.adopt(view('b'), 5000, 5010);
    expect(givers('b', 5020)).toEqual([]);
  });

  it('by nobody whose clock is behind, for its leases would end early', () => {
    const { map, change, givers } = watched();
    map.adopt(view('b'), 5000, 5010);
    change('a', { clock: 1_000_000 - 100 });
    expect(givers('b', 5020)).toEqual(['run of a']);
    change('a', { clock: 1_000_000 - 101 });
    expect(givers('b', 5020)).toEqual([]);
  });

  it('by nobody where the map was not looked at for long, before or since', () => {
    const late = watched();
    late.map.adopt(view('b'), LONGEST_GAP_MS, LONGEST_GAP_MS + 1);
    expect(late.givers('b', LONGEST_GAP_MS + 2)).toEqual([]);
    const later = watched();
    later.map.adopt(view('b'), 5000, 5010);
    expect(later.givers('b', 5000 + LONGEST_GAP_MS + 1)).toEqual([]);
    // And it is not remembered when looks go on.
    later.map.adopt(view('b'), 20_000, 20_010);
    expect(later.givers('b', 20_020)).toEqual([]);
  });

  it('by nobody where the Cluster did not work meanwhile', () => {
    const { map, givers } = watched();
    map.adopt(view('a', false), 2000, 2010);
    map.adopt(view('b'), 5000, 5010);
    expect(givers('b', 5020)).toEqual([]);
  });
});

const NODES = ['a', 'b', 'c', 'd'] as const;
type Step =
  | { readonly what: 'move' | 'take over'; readonly to: number; readonly lags: boolean }
  | { readonly what: 'look' | 'tell' | 'sweep' | 'ask' | 'others ask'; readonly after: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('move', 'move', 'take over'),
      to: fc.nat(NODES.length - 1),
      lags: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constantFrom('look', 'tell', 'sweep', 'ask', 'others ask'),
      after: fc.oneof(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 15_000 })),
    }),
  },
);

/** One bucket that goes about in a Cluster whose replicas lag, as one server sees it. */
class World {
  now = 0;
  accepted = 0;
  readonly broken: string[] = [];
  private readonly map = new ClusterMap();
  private owner = 0;
  private readonly stints = NODES.map(() => 1);
  private readonly knownSince: number[] = NODES.map(() => -1);
  /** What the bucket's epoch says, and what it said when it came where it is. */
  private epoch = 'a 1';
  private arrivedAs = 'a 1';
  /** Where it was adopted last, and grants were made. */
  private truth = 'a 1';
  /** A node that has just taken over: nothing is moved from there before any server has looked at its epochs. */
  private isUnswept = false;

  constructor(private readonly believesAllMasters: boolean) {
    this.look();
    this.look();
  }

  private run(node: number): string {
    return `${NODES[node]} ${this.stints[node]}`;
  }

  take(next: Step): void {
    if ('after' in next) this.now += next.after;
    switch (next.what) {
      case 'move':
        if (this.isUnswept) return;
        this.owner = next.to;
        this.arrivedAs = this.epoch;
        return;
      case 'take over':
        // In its place or at another address: it was not there before.
        this.owner = next.to;
        this.stints[next.to]! += 1;
        this.knownSince[next.to] = Infinity;
        if (next.lags) this.epoch = this.arrivedAs;
        this.isUnswept = true;
        return;
      case 'look':
        return this.look();
      case 'tell':
        this.map.correct(SLOT, NODES[this.owner]!, this.now);
        return;
      case 'sweep':
        this.adopt();
        this.knownSince[this.owner] = Math.min(this.knownSince[this.owner]!, this.now);
        return;
      case 'ask':
        return this.adopt();
      case 'others ask':
        return this.inForce();
    }
  }

  private look(): void {
    this.now += 1;
    this.map.adopt(view(NODES[this.owner]!), this.now, this.now);
  }

  private adopt(): void {
    const path = this.map.pathTo(NODES[this.owner]!, SLOT, this.now);
    const stintAt = (address: string): MasterTerm => {
      const node = NODES.indexOf(address as 'a');
      return { run: this.run(node), knownSince: this.knownSince[node]!, clock: 0 };
    };
    const givers = this.believesAllMasters
      ? NODES.map((_, node) => this.run(node))
      : sourceRunsAlong(path, NODES[this.owner]!, stintAt);
    if (this.epoch !== this.run(this.owner) && givers.includes(this.epoch)) {
      this.accepted += 1;
      if (this.epoch !== this.truth) {
        this.broken.push(
          `${this.epoch} was believed at ${this.run(this.owner)}, and ${this.truth} had granted`,
        );
      }
    }
    this.inForce();
  }

  private inForce(): void {
    this.epoch = this.truth = this.run(this.owner);
    this.isUnswept = false;
  }
}

describe('buckets that move while nodes fail, in random histories', () => {
  const histories = fc.array(step, { minLength: 5, maxLength: 40 });

  it('are believed to be whole only where they are', () => {
    let accepted = 0;
    fc.assert(
      fc.property(histories, (steps) => {
        const world = new World(false);
        for (const next of steps) world.take(next);
        accepted += world.accepted;
        expect(world.broken).toEqual([]);
      }),
      { numRuns: 300 },
    );
    expect(accepted).toBeGreaterThan(20);
  });

  it('would be where they are not if each master that there is counted as a giver', () => {
    const world = new World(true);
    world.take({ what: 'move', to: 1, lags: false });
    world.take({ what: 'others ask', after: 1 });
    world.take({ what: 'take over', to: 2, lags: true });
    world.take({ what: 'sweep', after: 1 });
    expect(world.broken).toHaveLength(1);
  });
});
