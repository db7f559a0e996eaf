import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../support/cli/run-program';
import { scratchFolder } from '../support/scratch-folder';

let script: string;
beforeAll(async () => {
  script = join(scratchFolder(), 'holdfast.bash');
  writeFileSync(script, (await runProgram(['completion', 'bash'])).out);
});

/** The words that bash offers for the last of the words. */
function offered(...words: string[]): string[] {
  const program = `
    source "$1"; shift
    compopt() { :; }
    COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#
    _holdfast
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', program, 'bash', script, ...words], {
    encoding: 'utf8',
    cwd: join(script, '..'),
  });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((line) => line !== '');
}

test('bash offers commands, and the commands below a command', () => {
  expect(offered('')).toEqual(
    expect.arrayContaining(['lock', 'complete', 'export', 'top', 'call', 'status']),
  );
  expect(offered('sem')).toEqual(['semaphore']);
  expect(offered('complete', 're')).toEqual(['recents']);
  expect(offered('complete', 'recents', '')).toEqual(['add', 'list', 'remove', 'delete']);
  expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
});

test('bash offers the options of the command, and the values of an option', () => {
  expect(offered('complete', 'suggest', 'towns', '--')).toEqual(
    expect.arrayContaining(['--limit', '--recents', '--output', '--address', '--help']),
  );
  expect(offered('export', '--s')).toEqual(['--semaphores', '--server-name']);
  expect(offered('lock', 'get', '-o', '')).toEqual(['table', 'json', 'jsonl']);
  expect(offered('lock', 'get', '--output', '=', 'js')).toEqual(['json', 'jsonl']);
  expect(offered('complete', 'import', 'd', '--format', 't')).toEqual(['tsv', 'text']);
  expect(offered('lock', 'get', '--address', '')).toEqual([]);
});

test('bash offers files for a file, and programs for the command after --', () => {
  expect(offered('import', 'hold')).toEqual(['holdfast.bash']);
  expect(offered('status', '--ca', 'hold')).toEqual(['holdfast.bash']);
  expect(offered('lock', 'run', 'x', '--', 'prin')).toContain('printf');
  expect(offered('lock', 'run', 'x', '--', 'cat', 'hold')).toEqual(['holdfast.bash']);
});

test('an argument that is named as a command does not change the command', () => {
  expect(offered('lock', 'get', 'list', '--out')).toEqual(['--output']);
  expect(offered('lock', 'get', 'list', '--contended')).toEqual([]);
});

test.each(['zsh', 'fish'])(
  'the script for %s has every command and option of the script for bash',
  async (shell) => {
    const { out } = await runProgram(['completion', shell]);
    for (const word of ['recents', 'set-limit', 'end-quarantine']) expect(out).toContain(word);
    for (const name of ['dry-run', 'max-hold', 'semaphores']) expect(out).toContain(name);
    if (spawnSync(shell, ['--version']).status !== 0) return;
    const file = `${script}.${shell}`;
    writeFileSync(file, out);
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  },
);

test('completion refuses another shell', async () => {
  expect(await runProgram(['completion', 'tcsh'])).toMatchObject({ code: 64 });
});
