import { StoreFailure } from '../../src/engine/errors';
import type { RedisConnection } from '../../src/redis/connection/connection';
import { Epochs } from '../../src/redis/epochs/epochs';
import { epochKey } from '../../src/redis/keys';
import type { EpochGuard } from '../../src/redis/connection/operation';
import { ManualClock } from '../support/manual-clock';

const QUARANTINE_MS = 135_000;
const AHEAD_MS = 5_000_000;
const IN_ORDER = ['OK', 0, 0, 0, '', QUARANTINE_MS, 'w', 12_000];
const LATE = ['STALE', 0, 0, 0, '', 0, 'w', 0];

/** One node's epochs over a connection on which nothing happens but what a test says, in time that it drives. */
class Scene {
  readonly clock = new ManualClock(1000);
  buckets: readonly (readonly number[])[] = [[1]];
  givers: () => Promise<readonly string[]> = () => Promise.resolve([]);
  /** How far Redis's clock was set. */
  stepMs = 0;
  /** What adoptions were sent with. */
  readonly sent: { readonly key: string; readonly epochArguments: readonly (string | number)[] }[] = [];
  answer: (key: string, setForwardUs: number) => readonly unknown[] = () => IN_ORDER;
  readonly epochs: Epochs;

  constructor() {
    const connection = {
      run: async (
        _: unknown,
        [key = '']: readonly string[],
        __: unknown,
        read: (reply: unknown[]) => unknown,
        guard: EpochGuard,
      ) => {
        const epochArguments = guard.epochArguments(this.clock.now() + 2000, [key]) ?? [];
        this.sent.push({ key, epochArguments });
        const isLate = Number(epochArguments[6]) < this.time * 1000;
        return Promise.resolve(read([...(isLate ? LATE : this.answer(key, Number(epochArguments[5])))]));
      },
      look: () => Promise.resolve(this.looks()),
      changed: () => undefined,
    } as unknown as RedisConnection;
    const share = { buckets: () => this.buckets, givers: () => this.givers() };
    const options = { prefix: 'test', quarantineMs: QUARANTINE_MS, storeIsNew: false, share };
    const onError = () => undefined;
    this.epochs = new Epochs({ ...options, clock: this.clock, onError }, () => connection);
  }

  private get time(): number {
    return AHEAD_MS + this.stepMs + this.clock.now();
  }

  looks(sentAt = this.clock.now()): void {
    const findings = { runId: 'R', durable: false, overlapMs: 12_000, uptimeSeconds: 1 };
    const sample = { time: this.time, sentAt, receivedAt: this.clock.now() };
    this.epochs.found({ ...findings, warnings: [], unsuitable: false }, sample);
  }

  async passes(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      await this.clock.advance(1000);
      this.looks();
      await this.epochs.adopt().catch(() => undefined);
    }
  }

  epochArguments(bucket: number) {
    const keys = Array.from({ length: 8 }, () => epochKey('test', bucket));
    return this.epochs.epochArguments(this.clock.now() + 2000, keys);
  }

  /** What is said against a grant that Redis made just now. */
  async verdict(): Promise<string | undefined> {
    const reply = ['GRANTED', '0', [], '1', '1', '1', 'secret', '1', String(this.time * 1000)];
    return (await this.epochs.epochCheck(reply, [], this.clock.now()))?.kind;
  }
}

describe('the epochs of a node', () => {
  it.each([
    ['some buckets', [[1]]],
    ['none', []],
  ])('that had %s when it was met know what they guard: its run, its bounds, its clock', async (_, first) => {
    const scene = new Scene();
    scene.buckets = first;
    scene.looks();
    await scene.epochs.adopt();
    await scene.epochs.adoptArrived([1]);
    expect(scene.epochArguments(1)?.[0]).toBe(`R w ${QUARANTINE_MS} 12000`);
    await scene.passes(3000);
    expect(await scene.verdict()).toBeUndefined();
    scene.stepMs = 900;
    expect(await scene.verdict()).toBe('in doubt');
  });

  it('grant nothing on an answer that lay unread while the process was stopped', async () => {
    const scene = new Scene();
    await scene.passes(1000);
    const sentAt = scene.clock.now();
    expect(scene.epochArguments(1)?.[1]).toBeGreaterThan(0);
    await scene.clock.advance(60_000);
    scene.looks(sentAt);
    expect(scene.epochArguments(1)?.[1]).toBe(0);
    scene.looks();
    expect(scene.epochArguments(1)?.[1]).toBeGreaterThan(0);
  });

  it('follow up a bucket that was on its way to another node when the clock was set forward', async () => {
    const scene = new Scene();
    scene.buckets = [[1], [2]];
    await scene.passes(1000);
    let isOnItsWay = true;
    scene.answer = (key) => {
      if (!isOnItsWay || key !== epochKey('test', 2)) return IN_ORDER;
      throw new StoreFailure('no', 'unavailable', { cause: new Error('TRYAGAIN') });
    };
    scene.stepMs = 60_000;
    await scene.passes(2000);
    expect(scene.epochArguments(1)?.[1]).toBeGreaterThan(0);
    // Nothing of it is granted here before it is known where it is.
    expect(scene.epochArguments(2)?.[1]).toBe(0);
    isOnItsWay = false;
    scene.sent.splice(0);
    await scene.passes(2000);
    const stepped = scene.sent.filter(({ epochArguments }) => Number(epochArguments[5]) > 0);
    expect(stepped.map(({ key }) => key)).toEqual([epochKey('test', 2)]);
    expect(Number(stepped[0]?.epochArguments[5])).toBeGreaterThan(59_000_000);
    expect(scene.epochArguments(2)?.[1]).toBeGreaterThan(0);
  });

  it('ask anew who gave a bucket when that is older than the command that says so', async () => {
    const scene = new Scene();
    await scene.passes(1000);
    let tell: (givers: readonly string[]) => void = () => undefined;
    scene.givers = () => new Promise((resolve) => (tell = resolve));
    scene.sent.splice(0);
    const adopted = scene.epochs.adoptArrived([1]);
    await scene.clock.advance(60_000);
    scene.givers = () => Promise.resolve(['B']);
    tell(['A']);
    await adopted;
    expect(scene.sent.map(({ epochArguments }) => epochArguments.at(-1))).toEqual(['A', 'B']);
    expect(Number(scene.sent[0]?.epochArguments[6])).toBeLessThan(
      Number(scene.sent[1]?.epochArguments[6]) - 50_000_000,
    );
  });
});
