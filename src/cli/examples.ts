import type { Command } from 'commander';

/** The examples of the commands whose help has no longer text of its own. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  '': ['dev', 'lock run nightly-report --wait 5m -- ./report.sh', 'top'],
  lock: ['lock run deploy -- ./deploy.sh', 'lock get deploy'],
  'lock get': ['lock get deploy', 'lock get deploy -o json'],
  'lock list': ['lock list shop/', 'lock list --contended'],
  'lock watch': ['lock watch deploy -o jsonl'],
  'lock revoke': ['lock revoke deploy --all --reason "stuck since noon"'],
  semaphore: ['semaphore run gpu --limit 8 -- python3 train.py', 'semaphore get gpu'],
  'semaphore get': ['semaphore get gpu', 'semaphore get gpu -o json'],
  'semaphore list': ['semaphore list shop/', 'semaphore list --contended'],
  'semaphore watch': ['semaphore watch gpu -o jsonl'],
  'semaphore revoke': ['semaphore revoke gpu --waiter 1'],
  'semaphore set-limit': ['semaphore set-limit gpu 8', 'semaphore set-limit gpu 0 --expected 8'],
  'semaphore pause': ['semaphore pause gpu', 'semaphore pause gpu --expected 8'],
  'semaphore resume': ['semaphore resume gpu'],
  'semaphore delete': ['semaphore delete gpu'],
  complete: ['complete import towns towns.csv', 'complete suggest towns "new yo"'],
  'complete create': ['complete create towns'],
  'complete get': ['complete get towns'],
  'complete list': ['complete list shop/'],
  'complete entries': ['complete entries towns new -o jsonl'],
  'complete delete': ['complete delete towns 3 4', 'complete delete towns --all'],
  'complete recents': ['complete recents add bob "New York"', 'complete recents list bob'],
  'complete recents add': ['complete recents add bob "New York" --entry-id 3'],
  'complete recents list': ['complete recents list bob'],
  'complete recents remove': ['complete recents remove bob --entry-id 3'],
  'complete recents delete': ['complete recents delete bob'],
  import: ['import all.jsonl --dry-run'],
  status: ['status', 'status --all --address lock-1,lock-2'],
  'end-quarantine': ['end-quarantine --reason "all clients have stopped"'],
  context: ['context set prod --address lock-1,lock-2 --tls', 'context use prod'],
  'context set': ['context set prod --address lock-1 --tls --token-file ~/.token'],
  'context use': ['context use prod'],
  'context delete': ['context delete prod'],
  'context list': ['context list'],
  health: ['health', 'health --address lock-1'],
  dev: ['dev'],
  'check-config': ['check-config --show'],
  help: ['help lock run'],
};

/** Adds the examples to the help of each command below. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const examples = EXAMPLES[path.join(' ')];
  if (examples !== undefined) {
    const lines = examples.map((one) => `  holdfast ${one}`).join('\n');
    command.addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`);
  }
  for (const one of command.commands) addExamples(one, [...path, one.name()]);
}
