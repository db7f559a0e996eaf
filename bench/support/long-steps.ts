import { Session, type Profiler } from 'node:inspector';
import { ROOT } from '../../test/support/root';
import { monotonicMs } from './monotonic';

/** Turns of the event loop that held the main thread for long, and that spent most of their time in the same function. */
export interface LongStep {
  /** The function, its file and its line in the compiled code. */
  readonly where: string;
  readonly count: number;
  /** The longest of these turns: the time of the main thread's processor, and the whole time (ms). */
  readonly longestCpu: number;
  readonly longest: number;
}

interface Turn {
  readonly from: number;
  readonly to: number;
}

/** Shorter turns are not kept (µs). */
const LONG_MICROSECONDS = 800;
const SAMPLE_MICROSECONDS = 100;
/** Samples without code of the server. */
const OTHERS = new Set(['(program)', '(idle)']);
const GARBAGE_COLLECTION = '(garbage collector)';
/** From `performance.now()` to the clock of the profile (ms). */
const CLOCK_OFFSET_MS = monotonicMs() - performance.now();

function microsecondsOf(ms: number): number {
  return (ms + CLOCK_OFFSET_MS) * 1000;
}

/**
 * Finds the functions that hold the main thread, by a profile and by the length of each turn of the event loop. The event
 * loop never waits meanwhile, which takes a core and makes more garbage than the server alone. The system stops a thread at
 * times, so the samples of a turn count, and not its length.
 */
export class LongSteps {
  private session: Session | undefined;
  private turns: Turn[] = [];
  private turnBegan = 0;

  async start(): Promise<void> {
    const session = new Session();
    session.connect();
    this.session = session;
    await this.post('Profiler.enable');
    await this.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
    await this.post('Profiler.start');
    this.turns = [];
    this.turnBegan = performance.now();
    setImmediate(this.markTurn);
  }

  async stop(): Promise<LongStep[]> {
    const { profile } = (await this.post('Profiler.stop')) as Profiler.StopReturnType;
    this.session?.disconnect();
    this.session = undefined;
    return stepsOf(profile, this.turns);
  }

  /** Makes little garbage, because the server's own collections of garbage are measured. */
  private readonly markTurn = (): void => {
    const from = this.turnBegan;
    const to = performance.now();
    this.turnBegan = to;
    if ((to - from) * 1000 > LONG_MICROSECONDS)
      this.turns.push({ from: microsecondsOf(from), to: microsecondsOf(to) });
    if (this.session) setImmediate(this.markTurn);
  };

  private post(method: string, params?: object): Promise<object | undefined> {
    return new Promise((resolve, reject) => {
      this.session?.post(method, params, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  }
}

function stepsOf({ nodes, samples = [], timeDeltas = [], startTime }: Profiler.Profile, turns: Turn[]) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const steps = new Map<string, LongStep>();
  let time = startTime;
  let at = 0;
  for (const { from, to } of turns) {
    const stacks: string[][] = [];
    for (; at < samples.length && time < to; at += 1) {
      time += timeDeltas[at] ?? 0;
      const sample = samples[at] as number;
      if (time < from || OTHERS.has(byId.get(sample)?.callFrame.functionName ?? '')) continue;
      const stack: string[] = [];
      for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
        stack.push(nameOf(byId.get(id)?.callFrame));
      }
      stacks.push(stack);
    }
    const cpu = (stacks.length * SAMPLE_MICROSECONDS) / 1000;
    if (cpu * 1000 <= LONG_MICROSECONDS) continue;
    const where = mostCommon(stacks);
    const before = steps.get(where) ?? { count: 0, longestCpu: 0, longest: 0 };
    steps.set(where, {
      where,
      count: before.count + 1,
      longestCpu: Math.max(before.longestCpu, cpu),
      longest: Math.max(before.longest, (to - from) / 1000),
    });
  }
  return [...steps.values()].sort((a, b) => b.longestCpu - a.longestCpu);
}

/** The function of the server, or the collection of garbage, that is on most stacks. Of equal functions the innermost. */
function mostCommon(stacks: readonly string[][]): string {
  const counts = new Map<string, number>();
  for (const stack of stacks) {
    for (const name of new Set(stack)) if (isExplanation(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const depth = (name: string) => Math.max(...stacks.map((stack) => stack.length - stack.indexOf(name)));
  const byCount = [...counts].sort(([a, countA], [b, countB]) => countB - countA || depth(b) - depth(a));
  return byCount[0]?.[0] ?? 'no function of the server';
}

function isExplanation(name: string): boolean {
  return name.includes(' dist/') || name === GARBAGE_COLLECTION;
}

function nameOf(frame: Profiler.ProfileNode['callFrame'] | undefined): string {
  if (frame === undefined || frame.url === '') return frame?.functionName || '(anonymous)';
  const file = frame.url.replace('file://', '').replace(`${ROOT}/`, '');
  return `${frame.functionName || '(anonymous)'} ${file}:${frame.lineNumber + 1}`;
}
