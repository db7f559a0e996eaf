import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { transformSync, type Options } from '@swc/core';
import ts from 'typescript';
import { makeVariant } from '../../../test/support/build-variant';
import { ROOT } from '../../../test/support/root';
import type { Mutant } from './mutants';

const SWC = createRequire(__filename)(join(ROOT, 'tools/swc-options.cjs')) as Options;

const CLIENT = join('clients', 'typescript');

export interface BuiltMutant {
  /** The command of the driver. */
  readonly start: readonly string[];
  remove(): Promise<void>;
}

/** Copies the built client, and compiles the changed source into the copy. */
export async function buildMutant(mutant: Mutant): Promise<BuiltMutant> {
  const path = join(CLIENT, mutant.file);
  const changed = mutate(await readFile(join(ROOT, path), 'utf8'), mutant);
  const compiled = compile(path, changed);
  const { folder, remove } = await makeVariant([], { copied: [CLIENT], linked: ['generated'] });
  await writeFile(join(folder, path.replace(/\.ts$/, '.js')), compiled);
  return { start: [process.execPath, join(folder, CLIENT, 'conformance', 'driver.js')], remove };
}

/** Throws if the text does not stand once in the source, because then the mutant is out of date. */
export function mutate(source: string, { file, text, replacement }: Omit<Mutant, 'cases'>): string {
  const [before = '', after, ...more] = source.split(text);
  if (after === undefined) throw new Error(`${file} does not contain: ${text}`);
  if (more.length > 0) throw new Error(`${file} contains ${more.length + 1} times: ${text}`);
  return before + replacement + after;
}

/** The JavaScript of one source, as the build writes it. Throws if the source cannot be parsed. */
export function compile(path: string, source: string): string {
  try {
    return transformSync(source, { ...SWC, sourceMaps: false, filename: join(ROOT, path) }).code;
  } catch (error) {
    const [problem = ''] = (error as Error).message.trim().split('\n');
    throw new Error(`${path}: ${problem}`, { cause: error });
  }
}

export function compilerOptions(): ts.CompilerOptions {
  const path = join(ROOT, 'tsconfig.json');
  const { config } = ts.parseConfigFileTextToJson(path, readFileSync(path, 'utf8')) as {
    config: { compilerOptions: object };
  };
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options;
}
