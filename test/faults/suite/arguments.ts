import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { isMutantName, MUTANT_NAMES, type MutantName } from './mutants/mutants';
import { FAULT_NAMES, isFaultName, type FaultName } from './nemesis/faults';
import { TOPOLOGIES, type Topology } from './plan';

export const USAGE = `usage: npm run test:faults -- [options]

  --seed N          the seed of the first round; each further round adds 1 (default: random, and printed)
  --minutes M       starts no round after M minutes (default 5)
  --rounds N        runs at most N rounds; --seed N --rounds 1 repeats a round
  --traffic S       seconds of traffic in a round (default 90)
  --workers N       workers in each of three processes (default 40), and sessions of up to 25 leases for each of them;
                    use fewer on a slow machine, or if several runs share a machine
  --topology T      ${TOPOLOGIES.join(', ')} (default one)
  --beside COMMIT   half of the servers begin as builds of this commit, and each restart changes between the two builds
  --faults A,B      draws only from these faults: ${FAULT_NAMES.join(', ')}
  --mutant A,B      breaks the server or the client on purpose, and runs until a checker reports it (default seed 1):
                    all, or some of ${MUTANT_NAMES.join(', ')}
  --write-results   runs nothing, and writes test/faults/RESULTS.md from all saved runs`;

export class UsageError extends Error {}

/** The task of a run of the fault suite. */
export interface RunOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly trafficMs: number | undefined;
  readonly workerCount: number | undefined;
  readonly topology: Topology;
  /** The commit of the other build. */
  readonly beside: string | undefined;
  readonly faults: readonly FaultName[] | undefined;
  readonly mutants: readonly MutantName[];
  readonly writeResults: boolean;
}

export function parseArguments(args: readonly string[]): RunOptions {
  const values = read(args);
  const traffic = numberOf(values.traffic, 'traffic', undefined);
  if (values.beside !== undefined && values.mutant !== undefined)
    throw new UsageError('--beside and --mutant do not go together');
  return {
    seed: numberOf(values.seed, 'seed', values.mutant === undefined ? randomInt(1_000_000) : 1),
    seconds: numberOf(values.minutes, 'minutes', 5) * 60,
    rounds: numberOf(values.rounds, 'rounds', Infinity),
    trafficMs: traffic === undefined ? undefined : traffic * 1000,
    workerCount: numberOf(values.workers, 'workers', undefined),
    topology: topologyOf(values.topology),
    beside: values.beside,
    faults: values.faults?.split(',').filter(Boolean).map(faultNamed),
    mutants: values.mutant === undefined ? [] : mutantsNamed(values.mutant),
    writeResults: values['write-results'] === true,
  };
}

function read(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        seed: text,
        minutes: text,
        rounds: text,
        traffic: text,
        workers: text,
        topology: text,
        beside: text,
        faults: text,
        mutant: text,
        'write-results': { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function numberOf<Usual>(text: string | undefined, name: string, usual: Usual): number | Usual {
  if (text === undefined) return usual;
  const number = Number(text);
  if (!(number >= 0)) throw new UsageError(`--${name} ${text} is not a number of 0 or more`);
  return number;
}

function topologyOf(text = 'one'): Topology {
  const found = TOPOLOGIES.find((topology) => topology === text);
  if (found === undefined)
    throw new UsageError(`--topology ${text} does not exist; choose one of ${TOPOLOGIES.join(', ')}`);
  return found;
}

function faultNamed(text: string): FaultName {
  if (!isFaultName(text))
    throw new UsageError(`--faults ${text} does not exist; choose from ${FAULT_NAMES.join(', ')}`);
  return text;
}

function mutantsNamed(text: string): readonly MutantName[] {
  if (text === 'all') return MUTANT_NAMES;
  return text.split(',').map((name) => {
    if (!isMutantName(name))
      throw new UsageError(`--mutant ${name} does not exist; choose from ${MUTANT_NAMES.join(', ')}`);
    return name;
  });
}
