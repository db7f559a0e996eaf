import { allNodes, quotedWord, shortText, type CommandNode } from './command-tree';

/** The completion of zsh. Works as a file `_holdfast` in a folder of $fpath, and with `source`. */
export function zshScript(program: CommandNode): string {
  const nodes = allNodes(program);
  return `#compdef holdfast
# Completion of holdfast in zsh: source <(holdfast completion zsh), after compinit
_holdfast() {
  local cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} path_= files= i
  local -a commands_ options_
  for ((i = 2; i < CURRENT; i++)); do
    if [[ \${words[i]} == -- ]]; then
      if ((i + 1 == CURRENT)); then _command_names -e; else _files; fi
      return
    fi
    case "$path_/\${words[i]}" in
${nodes.flatMap(stepLines).join('\n')}
    esac
  done
  case "$path_/$prev" in
${nodes.flatMap(valueLines).join('\n')}
  esac
  case $path_ in
${nodes.map(nodeLines).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    _describe -o option options_
  elif [[ -n $files ]]; then
    _files
  elif ((\${#commands_})); then
    _describe command commands_
  fi
}
compdef _holdfast holdfast
[[ \${funcstack[1]-} != _holdfast ]] || _holdfast "$@"
`;
}

function stepLines({ path, commands }: CommandNode): string[] {
  return commands.map(
    (one) => `      ${quotedWord(`${path}/${one.name}`)}) path_=${quotedWord(one.path)} ;;`,
  );
}

function valueLines({ path, options }: CommandNode): string[] {
  return options.flatMap(({ names, value }) => {
    if (value.kind === 'none') return [];
    const pattern = names.map((name) => quotedWord(`${path}/${name}`)).join('|');
    const action =
      value.kind === 'choice'
        ? `compadd -- ${value.choices.join(' ')};`
        : value.kind === 'file'
          ? '_files;'
          : '';
    return [`    ${pattern}) ${action} return ;;`];
  });
}

function nodeLines({ path, commands, options, takesFile, choices }: CommandNode): string {
  const words = [
    ...commands.map((one) => described(one.name, one.description)),
    ...choices.map((one) => described(one, '')),
  ];
  const flags = options.flatMap(({ names, description }) =>
    names.map((name) => described(name, description)),
  );
  return `    ${quotedWord(path)})
      commands_=(${words.join(' ')})
      options_=(${flags.join(' ')})
      files=${takesFile ? '1' : ''}
      ;;`;
}

/** "name:description", where a colon in the name would begin the description. */
function described(name: string, description: string): string {
  const text = shortText(description);
  return quotedWord(text === '' ? name : `${name}:${text}`);
}
