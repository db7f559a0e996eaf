import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { escapeText } from '../../base/text';
import type { PolicyQuestion } from '../../access/policy';
import type { PolicyContent } from '../../access/policy-text';
import { CliError, EXIT, type Terminal, UsageError } from '../terminal';

interface QuestionFlags {
  identity?: string;
  verb?: PolicyQuestion['verb'];
  service?: PolicyQuestion['service'];
  name?: string;
  quotas?: boolean;
}

/** Words of a policy. The test compares them with the policy reader, which is loaded only when a policy is checked. */
export const POLICY_VERBS = ['read', 'use', 'limit', 'revoke', 'import', 'admin'] as const;
export const POLICY_SERVICES = [
  'LockService',
  'SemaphoreService',
  'AutocompleteService',
  'ServerService',
] as const;

/** Adds `check-config` and `check-policy`. Their actions load the modules of the server that read these texts. */
export function addChecks(program: Command, terminal: Terminal): void {
  program
    .command('check-config')
    .summary('check the settings of a server')
    .description(
      'Checks the settings in the environment as a server does at its start, and prints each problem. Warns of what valid settings leave open, such as files that every user may write. Does not read the files, and does not connect to Redis.',
    )
    .option('--show', 'print every setting with its value; passwords are left out')
    .action((flags: { show?: boolean }) => checkConfig(terminal, flags.show === true));

  program
    .command('check-policy')
    .summary('check a policy file')
    .description(
      `Checks a policy file and prints each problem. With --identity, says whether the policy allows a call, which rules decide, and the longest ttl; exit code ${EXIT.denied} if the call is denied.`,
    )
    .argument('<file>', 'policy file (HOLDFAST_POLICY)')
    .option('--identity <identity>', 'identity of the caller, for example token:alice')
    .addOption(new Option('--verb <verb>', 'verb of the call').choices(POLICY_VERBS))
    .addOption(new Option('--service <service>', 'service of the call').choices(POLICY_SERVICES))
    .option('--quotas', 'the quotas of the identity, in place of a call')
    .option('--name <name>', 'name of the lock, semaphore or dictionary (default: the empty name)')
    .addHelpText(
      'after',
      '\nExample:\n  holdfast check-policy policy.yaml --identity token:alice --verb use \\\n    --service LockService --name jobs/1',
    )
    .action((file: string, flags: QuestionFlags) => checkPolicy(terminal, file, flags));
}

async function checkConfig(terminal: Terminal, show: boolean): Promise<void> {
  const { readConfig } = await import('../../server/config/config.js');
  const { shownSettings } = await import('../../server/config/config.js');
  const { settingsWarnings } = await import('../../server/config/config.js');
  try {
    for (const warning of settingsWarnings(readConfig(terminal.env))) {
      terminal.err.write(`warning: ${escapeText(warning)}\n`);
    }
  } catch (error) {
    const { problems } = error as { problems?: readonly string[] };
    if (problems === undefined) throw error;
    for (const problem of problems) terminal.err.write(`${escapeText(problem)}\n`);
    throw new CliError(count(problems, 'problem in the settings', 'problems in the settings'), EXIT.usage);
  }
  if (!show) terminal.err.write('the settings are valid\n');
  for (const { name, value, isDefault } of show ? shownSettings(terminal.env) : []) {
    terminal.out.write(`${name}=${escapeText(value)}${isDefault ? '  # default' : ''}\n`);
  }
}

async function checkPolicy(terminal: Terminal, file: string, flags: QuestionFlags): Promise<void> {
  const question = flags.quotas === true ? undefined : questionOf(flags);
  if (
    flags.quotas === true &&
    (flags.identity === undefined || (flags.verb ?? flags.service ?? flags.name))
  ) {
    throw new UsageError('--quotas needs --identity, and no --verb, --service and --name');
  }
  const { readPolicy } = await import('../../access/policy-text.js');
  const content = readPolicy(await textOf(file));
  if ('problems' in content) {
    for (const problem of content.problems) terminal.err.write(`${problem}\n`);
    throw new CliError(count(content.problems, `problem in ${file}`, `problems in ${file}`), EXIT.usage);
  }
  for (const warning of content.warnings) terminal.err.write(`warning: ${warning}\n`);
  if (flags.quotas === true) return showQuotas(terminal, content, flags.identity ?? '');
  if (question === undefined) {
    const rules = count(content.rules, 'rule', 'rules');
    terminal.err.write(`the policy is valid: ${rules}, ${count(content.quotas, 'quota', 'quotas')}\n`);
    return;
  }
  await answer(terminal, content, question);
}

async function showQuotas(terminal: Terminal, { quotas }: PolicyContent, identity: string): Promise<void> {
  const { decideQuotas } = await import('../../access/policy.js');
  for (const { name, limit, index, isShared } of decideQuotas(quotas, identity)) {
    const whose = isShared ? ', together with all identities of that item' : '';
    terminal.out.write(`${name} ${limit}: quotas[${index}]${whose}\n`);
  }
}

async function answer(terminal: Terminal, { rules }: PolicyContent, question: PolicyQuestion): Promise<void> {
  const { decide } = await import('../../access/policy.js');
  const { isAllowed, prefix, deciding, maxTtl } = decide(rules, question);
  const why =
    prefix === undefined
      ? `no rule has the identity, ${question.service} and a prefix of the name`
      : `${deciding.map((index) => `rules[${index}]`).join(', ')}, by the prefix ${JSON.stringify(prefix)}`;
  terminal.out.write(
    `${isAllowed ? 'allowed' : 'denied'}: ${escapeText(why)}${maxTtl === undefined ? '' : `; ttl at most ${maxTtl}`}\n`,
  );
  if (!isAllowed) terminal.exitWith(EXIT.denied);
}

function questionOf({ identity, verb, service, name }: QuestionFlags): PolicyQuestion | undefined {
  if (identity === undefined) {
    if (verb ?? service ?? name) throw new UsageError('--verb, --service and --name need --identity');
    return undefined;
  }
  if (verb === undefined || service === undefined) {
    throw new UsageError('--identity needs --verb and --service');
  }
  return { identity, verb, service, name: name ?? '' };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read the policy: ${(error as Error).message}`);
  }
}

function count(list: readonly unknown[], one: string, many: string): string {
  return `${list.length} ${list.length === 1 ? one : many}`;
}
