import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Case } from './case-file';
import { CaseRun, Unsupported } from './case-run';
import { FaultWorld } from './fault-world';
import { NoNames, withNames } from './host-names';
import type { Language } from './languages';
import { ScriptedWorld } from './scripted-world';

/** `not possible here`: this machine does not allow what the case needs. The problem says what that is. */
export type Outcome =
  'passed' | 'failed' | 'known failure' | 'passes unexpectedly' | 'not offered' | 'not possible here';

export interface Attempt {
  readonly id: string;
  readonly language: string;
  readonly outcome: Outcome;
  readonly ms: number;
  /** Why the case failed. */
  readonly problem: string;
  readonly transcript: readonly string[];
}

/** Runs one case with one driver. */
export async function attempt(one: Case, language: Language): Promise<Attempt> {
  const started = performance.now();
  const transcript: string[] = [];
  const log = (line: string): void => {
    const at = (performance.now() - started).toFixed(0).padStart(6);
    transcript.push(`${at} ${line}`);
  };
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-case-'));
  const failure = await failureOf(one, language, folder, log);
  rmSync(folder, { recursive: true, force: true });
  const known = language.knownFailures.get(one.id);
  const ms = Math.round(performance.now() - started);
  const problem = failure?.message ?? (known === undefined ? '' : `this known failure passes: ${known}`);
  const outcome = outcomeOf(one, failure, known !== undefined);
  return { id: one.id, language: language.name, outcome, ms, problem, transcript };
}

async function failureOf(
  one: Case,
  { start }: Language,
  folder: string,
  log: (line: string) => void,
): Promise<Error | undefined> {
  let world: ScriptedWorld | FaultWorld | undefined;
  try {
    world =
      one.set === 'scripted'
        ? await ScriptedWorld.start(one, folder, log)
        : await FaultWorld.start(one, folder, log);
    await new CaseRun(one, commandOf(one, start, folder), world, folder, log).run();
    return undefined;
  } catch (error) {
    log(`FAILED: ${(error as Error).message}`);
    return error as Error;
  } finally {
    await world?.close();
  }
}

/** The driver of a case with names has a file /etc/hosts of its own, which every language reads. */
function commandOf({ names }: Case, start: readonly string[], folder: string): readonly string[] {
  return Object.keys(names).length === 0 ? start : withNames(start, folder);
}

function outcomeOf({ needs }: Case, failure: Error | undefined, isKnown: boolean): Outcome {
  if (failure instanceof Unsupported && needs !== undefined) return 'not offered';
  if (failure instanceof NoNames) return 'not possible here';
  if (failure) return isKnown ? 'known failure' : 'failed';
  return isKnown ? 'passes unexpectedly' : 'passed';
}
