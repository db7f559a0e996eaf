import { join } from 'node:path';
import {
  buildGo,
  buildJava,
  buildRust,
  type BuiltProgram,
  filesBelow,
  pythonEnvironment,
} from '../support/toolchains';
import { ROOT } from '../support/root';

function source(...path: readonly string[]): string {
  return join(ROOT, 'test', 'clients', ...path);
}

function generated(...path: readonly string[]): string {
  return join(ROOT, 'generated', ...path);
}

export async function pythonClient(): Promise<BuiltProgram> {
  const found = await pythonEnvironment(source('python', 'requirements.txt'));
  if ('missing' in found) return found;
  const env = { PYTHONPATH: generated('python'), PYTHONDONTWRITEBYTECODE: '1' };
  return { command: [found.python, source('python', 'main.py')], env };
}

/** @param scratch folder for the program. Go has its own build cache, so a second build is fast. */
export async function goClient(scratch: string): Promise<BuiltProgram> {
  const output = join(scratch, 'go-client');
  const missing = await buildGo({ module: source('go'), packages: '.', output });
  return missing === undefined ? { command: [output] } : { missing };
}

export async function javaClient(): Promise<BuiltProgram> {
  const sources = [
    ...filesBelow(generated('java', 'src')),
    source('java', 'Frozen.java'),
    source('java', 'Main.java'),
  ];
  const built = await buildJava(generated('java', 'pom.xml'), sources);
  return 'missing' in built ? built : { command: ['java', '-cp', built.classPath, 'Main'] };
}

export async function rustClient(): Promise<BuiltProgram> {
  const missing = await buildRust(source('rust'));
  if (missing !== undefined) return { missing };
  return { command: [source('rust', 'target', 'debug', 'errors-client')] };
}
