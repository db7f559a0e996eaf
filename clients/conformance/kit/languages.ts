import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { ROOT } from '../../../test/support/root';

const execute = promisify(execFile);
const FOLDER = join(ROOT, 'clients', 'conformance');
/** A first build downloads packages. */
const BUILD_TIMEOUT_MS = 900_000;

type Command = readonly string[];

interface Program {
  readonly build?: readonly Command[];
  readonly start: Command;
}

interface Declared extends Program {
  readonly driver: string;
  /** The folder of the build, which two drivers may share. Default: the name. */
  readonly out?: string;
  readonly needs?: readonly Command[];
  readonly bench?: Partial<Program>;
}

export interface Language {
  readonly name: string;
  readonly start: Command;
  /** Case id and reason. */
  readonly knownFailures: ReadonlyMap<string, string>;
}

export type FoundLanguage = Language | { readonly name: string; readonly missing: string };

export function declaredLanguages(): string[] {
  return Object.keys(declarations());
}

/** A driver that shares its build with another drives another face of the same package, which is measured once. */
export function measuredLanguages(): string[] {
  return Object.entries(declarations()).flatMap(([name, { out }]) => (out === undefined ? [name] : []));
}

/** Builds the driver of a language, for the cases or for the benchmarks. Throws if the build fails. */
export async function prepareLanguage(
  name: string,
  use: 'cases' | 'bench' = 'cases',
): Promise<FoundLanguage> {
  const declared = declarations()[name];
  if (!declared) throw new Error(`languages.yaml has no ${name}; it has ${declaredLanguages().join(', ')}`);
  if (!existsSync(join(ROOT, declared.driver))) return { name, missing: `${declared.driver} does not exist` };
  const out = join(ROOT, '.holdfast', 'conformance', declared.out ?? name);
  mkdirSync(out, { recursive: true });
  const filled = (command: Command): string[] => command.map((word) => word.replaceAll('{out}', out));
  for (const command of declared.needs ?? []) {
    const problem = await problemOf(filled(command));
    if (problem !== undefined)
      return { name, missing: `the toolchain is missing (${command[0]}: ${problem})` };
  }
  const program = { ...declared, ...(use === 'bench' && declared.bench) };
  for (const command of program.build ?? []) {
    const problem = await problemOf(filled(command));
    if (problem !== undefined)
      throw new Error(`the build of ${name} fails: ${command.join(' ')}: ${problem}`);
  }
  return { name, start: filled(program.start), knownFailures: knownFailures(name) };
}

function declarations(): Readonly<Record<string, Declared>> {
  return parse(readFileSync(join(FOLDER, 'languages.yaml'), 'utf8')) as Record<string, Declared>;
}

function knownFailures(name: string): ReadonlyMap<string, string> {
  const file = join(FOLDER, 'known-failures', `${name}.yaml`);
  if (!existsSync(file)) return new Map();
  return new Map(Object.entries((parse(readFileSync(file, 'utf8')) ?? {}) as Record<string, string>));
}

async function problemOf([program = '', ...args]: Command): Promise<string | undefined> {
  try {
    await execute(program, args, { cwd: ROOT, timeout: BUILD_TIMEOUT_MS, maxBuffer: 1e8 });
    return undefined;
  } catch (error) {
    const {
      stderr = '',
      stdout = '',
      message,
    } = error as { stderr?: string; stdout?: string; message: string };
    return (stderr + stdout).trim().slice(-3000) || message;
  }
}
