import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Belief } from './belief';
import type { Case, Step, Values } from './case-file';
import { COMMANDS } from './commands';
import { DriverProcess, type Message, type Told } from './driver-process';
import { expandCommand } from './expand';
import { mismatch, type Remembered } from './matching';
import { ServerExpectations } from './server-expectations';
import { textOf } from './text';
import type { WaitFor, World } from './world';

/** The language cannot offer a command of the case. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported';
}

const WITHIN_MS = 15_000;
/** A runtime may start slowly on a machine with busy cores. */
const READY_MS = 60_000;
const EXIT_MS = 15_000;
const LOOK_EVERY_MS = 5;

/** One run of one case with one driver. `run` rejects with the first failure. */
export class CaseRun {
  private driver: DriverProcess | undefined;
  private readonly sent = new Set<number>();
  private readonly ids = new Map<string, number>();
  private readonly marks = new Map<string, number>();
  private readonly remembered: Remembered = new Map();
  private readonly belief: Belief;
  private readonly expectations: ServerExpectations;
  private readonly lines: string[] = [];
  private lastId = 0;

  constructor(
    private readonly one: Case,
    private readonly command: readonly string[],
    private readonly world: World,
    private readonly folder: string,
    private readonly log: (line: string) => void,
  ) {
    this.belief = new Belief(world);
    this.expectations = new ServerExpectations(world.records, this.remembered);
  }

  async run(): Promise<void> {
    try {
      await this.startDriver();
      for (const step of this.one.steps) {
        this.log(
          `-- step ${step.line}: ${step.verb} ${JSON.stringify(step.value)} ${JSON.stringify(step.options)}`,
        );
        await this.inStep(step, () => this.step(step));
      }
      await this.finish();
    } finally {
      if (this.driver && this.driver.exitText === undefined) this.driver.signal('SIGKILL');
    }
  }

  private async inStep(step: Step, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (error instanceof Unsupported) throw error;
      const { message } = error as Error;
      throw new Error(`step ${step.line} (${step.verb}): ${message}`, { cause: error });
    }
  }

  private async step(step: Step): Promise<void> {
    const { verb, value, options } = step;
    if (verb in COMMANDS) return this.commandStep(step);
    if (verb === 'result') return this.checkResult(this.idOf(value), options);
    if (verb === 'no_result') return this.noResult(this.idOf(value), Number(options['for_ms'] ?? 0));
    if (verb === 'event') return this.event(value, options);
    if (verb === 'no_event') return this.noEvent(value, options);
    if (verb === 'driver') return this.driverStep(String(value));
    if (verb === 'pause_ms') return pause(Number(value));
    if (verb === 'mark') return void this.marks.set(String(value), performance.now());
    if (verb === 'file') {
      const { path, text } = value as { path: string; text: string };
      return writeFileSync(join(this.folder, path), text);
    }
    if (verb === 'received') return this.received(value, options);
    if (verb === 'not_received') {
      const since = this.since(options) ?? performance.now();
      await this.holds(Number(options['for_ms'] ?? 0));
      return this.expectations.atMost(Number(options['at_most'] ?? 0), value, options['server'], since);
    }
    if (await this.world.run(step, this.waitFor)) return;
    throw new Error(`the step ${verb} has no meaning here`);
  }

  private async commandStep({ verb, value, options }: Step): Promise<void> {
    if (this.driver?.isEnded) await this.startDriver();
    const id = (this.lastId += 1);
    this.sent.add(id);
    const { as } = options;
    if (typeof as === 'string') this.ids.set(as, id);
    const given = (value ?? {}) as Values;
    const fields = expandCommand(verb, given, {
      servers: [...this.one.servers.keys()],
      names: Object.keys(this.one.names),
      address: (name) => this.world.address(name),
      folder: this.folder,
      idOf: (name) => this.idOf(name),
    });
    const at = this.theDriver.send({ id, do: verb, ...fields });
    this.belief.sent(id, verb, fields, at);
    if (as === undefined) await this.checkResult(id, options);
  }

  private async checkResult(id: number, options: Values): Promise<void> {
    const told = await this.waitFor(
      `the result ${id}`,
      () => this.theDriver.results.get(id),
      this.within(options),
    );
    const { message } = told;
    if (message['unsupported'] === true) throw new Unsupported('the driver does not support a command');
    const expected = options['expect'] ?? { error: null };
    const problem = mismatch(expected, message, this.remembered);
    if (problem !== undefined) throw new Error(`the result does not match: ${problem}`);
    this.checkTime(told, options);
  }

  private async noResult(id: number, forMs: number): Promise<void> {
    await this.holds(forMs);
    const told = this.theDriver.results.get(id);
    if (told) throw new Error(`the result came: ${JSON.stringify(told.message)}`);
  }

  private async event(expected: unknown, options: Values): Promise<void> {
    const wanted = this.withId(expected);
    const find = (): Told | undefined =>
      this.theDriver.events.find(
        (one) => !one.isTaken && mismatch(wanted, one.message, this.remembered) === undefined,
      );
    const told = await this.waitFor(`the event ${JSON.stringify(wanted)}`, find, this.within(options));
    told.isTaken = true;
    this.checkTime(told, options);
  }

  private async noEvent(expected: unknown, options: Values): Promise<void> {
    const since = this.since(options) ?? performance.now();
    await this.holds(Number(options['for_ms'] ?? 0));
    const wanted = this.withId(expected);
    const told = this.theDriver.events.find(
      ({ at, message }) => at >= since && mismatch(wanted, message, new Map(this.remembered)) === undefined,
    );
    if (told) throw new Error(`the event came: ${JSON.stringify(told.message)}`);
  }

  private async received(expected: unknown, options: Values): Promise<void> {
    const { server, count = 1 } = options;
    for (let taken = 1; taken <= Number(count); taken += 1) {
      const what = `a record like ${JSON.stringify(expected)} (${taken} of ${String(count)})`;
      const find = () => this.expectations.take(expected, server);
      const found = await this.waitFor(what, find, this.within(options));
      if (taken === Number(count)) this.checkTime(found, options);
    }
  }

  private async driverStep(act: string): Promise<void> {
    const driver = this.theDriver;
    if (act === 'stop') driver.signal('SIGSTOP');
    else if (act === 'continue') driver.signal('SIGCONT');
    else if (act === 'kill') driver.signal('SIGKILL');
    else await this.endDriver(driver);
  }

  private async endDriver(driver: DriverProcess): Promise<void> {
    driver.endInput();
    await this.waitFor('the exit of the driver after the end of stdin', () => driver.exitText, EXIT_MS);
    if (driver.exitCode !== 0) throw new Error(`the driver ended with ${driver.exitText}, not with code 0`);
  }

  private async startDriver(): Promise<void> {
    const driver = new DriverProcess(this.command, this.sent, (line) => {
      this.lines.push(line);
      this.log(line);
    });
    this.driver = driver;
    await this.waitFor('the driver to be ready', () => driver.isReady || undefined, READY_MS);
  }

  /** What every case checks at its end. */
  private async finish(): Promise<void> {
    if (this.driver && !this.driver.isEnded) await this.endDriver(this.driver);
    this.throwProblem();
    const lost = this.driver?.events.find(({ isTaken, message }) => !isTaken && message['event'] === 'lost');
    if (lost) throw new Error(`a loss that the case does not expect: ${JSON.stringify(lost.message)}`);
    const secret = [...this.world.leaseIds].find((id) => this.lines.some((line) => line.includes(id)));
    if (secret !== undefined)
      throw new Error('a lease_id, which is a secret, stands in the output of the driver');
  }

  private readonly waitFor: WaitFor = async (what, condition, withinMs) => {
    const end = performance.now() + withinMs;
    for (;;) {
      this.throwProblem();
      const value = condition();
      if (value !== undefined) return value;
      const { driver } = this;
      if (driver?.exitText !== undefined && !driver.isEnded)
        throw new Error(`the driver ended: ${driver.exitText}`);
      if (performance.now() > end) throw new Error(`after ${withinMs} ms there is not ${what}`);
      await pause(LOOK_EVERY_MS);
    }
  };

  /** Waits, and notices broken rules meanwhile. */
  private async holds(forMs: number): Promise<void> {
    const end = performance.now() + forMs;
    while (performance.now() < end) {
      this.throwProblem();
      await pause(Math.min(20, Math.max(1, end - performance.now())));
    }
    this.throwProblem();
  }

  private throwProblem(): void {
    for (const told of this.driver?.results.values() ?? []) this.belief.told(told);
    const problem = this.driver?.problem ?? this.belief.problem ?? this.world.records.violations[0];
    if (problem !== undefined) throw new Error(problem);
  }

  private checkTime({ at }: { readonly at: number }, options: Values): void {
    const since = this.since(options);
    if (since === undefined) return;
    const { min_ms: min, max_ms: max } = options;
    const ms = Math.round(at - since);
    if (min !== undefined && ms < Number(min))
      throw new Error(`this came ${ms} ms after the mark, before ${Number(min)} ms`);
    if (max !== undefined && ms > Number(max))
      throw new Error(`this came ${ms} ms after the mark, after ${Number(max)} ms`);
  }

  private since({ since }: Values): number | undefined {
    if (since === undefined) return undefined;
    const at = this.marks.get(textOf(since));
    if (at === undefined) throw new Error(`there is no mark ${textOf(since)}`);
    return at;
  }

  private within({ within_ms: ms = WITHIN_MS }: Values): number {
    return Number(ms);
  }

  private idOf(name: unknown): number {
    const id = this.ids.get(String(name));
    if (id === undefined) throw new Error(`no command has "as: ${String(name)}"`);
    return id;
  }

  /** An event names its command by the id, a case by the name of the step. */
  private withId(expected: unknown): Message {
    const { of, ...rest } = expected as Record<string, unknown>;
    return of === undefined ? rest : { ...rest, of: this.idOf(of) };
  }

  private get theDriver(): DriverProcess {
    if (!this.driver) throw new Error('the driver does not run');
    return this.driver;
  }
}
