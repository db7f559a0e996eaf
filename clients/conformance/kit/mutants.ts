import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../../test/support/root';
import type { Case } from './case-file';
import { textOf } from './text';

const FILE = join(ROOT, 'clients', 'conformance', 'mutants.yaml');
const TEXTS = ['name', 'rule', 'file', 'text', 'replacement'] as const;

/** A one-line change of the TypeScript client that breaks a rule. */
export interface Mutant {
  readonly name: string;
  /** The folder of the cases of the broken rule. */
  readonly rule: string;
  /** The source, below clients/typescript. */
  readonly file: string;
  /** Stands once in the source. */
  readonly text: string;
  readonly replacement: string;
  /** Each of these cases must fail. */
  readonly cases: readonly Case[];
}

/** Throws for the first mutant that cannot be read. */
export function declaredMutants(cases: readonly Case[]): Mutant[] {
  return readMutants(readFileSync(FILE, 'utf8'), cases);
}

export function readMutants(text: string, cases: readonly Case[]): Mutant[] {
  const names = new Set<string>();
  return (parse(text) as Record<string, unknown>[]).map((fields) => {
    const mutant = readMutant(fields, cases);
    if (names.has(mutant.name)) throw new Error(`two mutants have the name "${mutant.name}"`);
    names.add(mutant.name);
    return mutant;
  });
}

function readMutant(fields: Record<string, unknown>, cases: readonly Case[]): Mutant {
  const fail = (problem: string): never => {
    throw new Error(`the mutant "${textOf(fields['name'] ?? '')}": ${problem}`);
  };
  const oneLine = (key: string): string => {
    const value = fields[key];
    return typeof value === 'string' && !value.includes('\n')
      ? value
      : fail(`"${key}" is a text of one line`);
  };
  const unknown = Object.keys(fields).find((key) => ![...TEXTS, 'cases'].includes(key));
  if (unknown !== undefined) fail(`there is no "${unknown}"`);
  const [name = '', rule = '', file = '', text = '', replacement = ''] = TEXTS.map(oneLine);
  if (!cases.some(({ id }) => id.startsWith(`${rule}/`))) fail(`there is no rule ${rule}`);
  const { cases: ids } = fields;
  if (!Array.isArray(ids) || ids.length === 0) return fail('"cases" is a list of cases');
  const named = ids.map((id) => cases.find((one) => one.id === id) ?? fail(`there is no case ${textOf(id)}`));
  return { name, rule, file, text, replacement, cases: named };
}
