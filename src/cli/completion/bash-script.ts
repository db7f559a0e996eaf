import { allNodes, quotedWord, type CommandNode } from './command-tree';

/** The completion of bash 4 or newer. Needs no other package. */
export function bashScript(program: CommandNode): string {
  const nodes = allNodes(program);
  return `# Completion of holdfast in bash: source <(holdfast completion bash)
_holdfast() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= i
  COMPREPLY=()
  # Bash makes three words of "--output=json".
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- ]]; then
      if ((i + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      fi
      return
    fi
    case "$path/\${COMP_WORDS[i]}" in
${nodes.flatMap(stepLines).join('\n')}
    esac
  done
  case "$path/$prev" in
${nodes.flatMap(valueLines).join('\n')}
  esac
  local commands= options= files=
  case $path in
${nodes.map(nodeLine).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  elif [[ $files ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur")
  fi
}
complete -F _holdfast holdfast
`;
}

/** From a command to the commands below. */
function stepLines({ path, commands }: CommandNode): string[] {
  return commands.map((one) => `      ${quotedWord(`${path}/${one.name}`)}) path=${quotedWord(one.path)} ;;`);
}

/** The words after an option that takes a value. */
function valueLines({ path, options }: CommandNode): string[] {
  return options.flatMap(({ names, value }) => {
    if (value.kind === 'none') return [];
    const pattern = names.map((name) => quotedWord(`${path}/${name}`)).join('|');
    return [`    ${pattern}) ${valueAction(value)} return ;;`];
  });
}

function valueAction(value: CommandNode['options'][number]['value']): string {
  switch (value.kind) {
    case 'choice':
      return `mapfile -t COMPREPLY < <(compgen -W ${quotedWord(value.choices.join(' '))} -- "$cur");`;
    case 'file':
      return 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur");';
    default:
      return '';
  }
}

function nodeLine({ path, commands, options, takesFile, choices }: CommandNode): string {
  const names = [...commands.map((one) => one.name), ...choices].join(' ');
  const flags = options.flatMap((one) => one.names).join(' ');
  return `    ${quotedWord(path)}) commands=${quotedWord(names)} options=${quotedWord(flags)}${takesFile ? ' files=1' : ''} ;;`;
}
