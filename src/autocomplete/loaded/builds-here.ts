import { buildAnswers, Builds } from './thread-builds';
import type { BuildCalls } from './thread-calls';

/** Carries out the calls of builds, in another thread or here. */
export interface BuildThread {
  /** How often the thread has ended. */
  readonly lossCount: number;
  call<Name extends keyof BuildCalls>(
    name: Name,
    value: BuildCalls[Name]['takes'],
    transfer?: readonly ArrayBuffer[],
  ): Promise<BuildCalls[Name]['answers']>;
}

/**
 * Builds very small layers on the main thread. A build of 1,000 short entries takes about 0.5 ms in all, and a call of
 * another thread takes longer than that on a busy machine.
 */
export class BuildsHere implements BuildThread {
  readonly lossCount = 0;
  readonly #answers = buildAnswers(new Builds(1));

  async call<Name extends keyof BuildCalls>(
    name: Name,
    value: BuildCalls[Name]['takes'],
  ): Promise<BuildCalls[Name]['answers']> {
    // Each call is a step of its own, so that other calls run in between.
    await new Promise(setImmediate);
    return this.#answers[name](value);
  }
}
