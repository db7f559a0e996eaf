import type { Command, Option } from 'commander';

/** What a word after an option can be. */
export type ValueKind =
  | { readonly kind: 'none' }
  | { readonly kind: 'text' }
  | { readonly kind: 'file' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

interface OptionNode {
  /** "-o", "--output". */
  readonly names: readonly string[];
  readonly description: string;
  readonly value: ValueKind;
}

export interface CommandNode {
  /** The words after "holdfast", for example "lock run". Empty: the program itself. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly commands: readonly CommandNode[];
  readonly options: readonly OptionNode[];
  readonly takesFile: boolean;
  /** The first argument has these values. */
  readonly choices: readonly string[];
}

/** The commands of a program with their options, for the completion in a shell. */
export function commandTree(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  return {
    path: path.join(' '),
    name: command.name(),
    description: command.summary() || command.description(),
    commands: commands.map((one) => commandTree(one, [...path, one.name()])),
    options: help.visibleOptions(command).map(optionNode),
    takesFile: command.registeredArguments.some((one) => one.name() === 'file'),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
}

/** The node and all nodes below. */
function allNodes(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(allNodes)];
}

function optionNode(option: Option): OptionNode {
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    value: valueOf(option),
  };
}

function valueOf({ argChoices, flags, required, optional }: Option): ValueKind {
  if (argChoices) return { kind: 'choice', choices: argChoices };
  if (!required && !optional) return { kind: 'none' };
  return flags.includes('<file>') ? { kind: 'file' } : { kind: 'text' };
}

/** The first sentence, without a line break. */
function shortText(text: string): string {
  return text.replaceAll('\n', ' ').replace(/\.( .*)?$/, '');
}

/** A word in single quotes for bash and zsh. */
function quotedWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

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
${nodes.flatMap(bashStepLines).join('\n')}
    esac
  done
  case "$path/$prev" in
${nodes.flatMap(bashValueLines).join('\n')}
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
function bashStepLines({ path, commands }: CommandNode): string[] {
  return commands.map((one) => `      ${quotedWord(`${path}/${one.name}`)}) path=${quotedWord(one.path)} ;;`);
}

/** The words after an option that takes a value. */
function bashValueLines({ path, options }: CommandNode): string[] {
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
${nodes.flatMap(zshStepLines).join('\n')}
    esac
  done
  case "$path_/$prev" in
${nodes.flatMap(zshValueLines).join('\n')}
  esac
  case $path_ in
${nodes.map(zshNodeLines).join('\n')}
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

function zshStepLines({ path, commands }: CommandNode): string[] {
  return commands.map(
    (one) => `      ${quotedWord(`${path}/${one.name}`)}) path_=${quotedWord(one.path)} ;;`,
  );
}

function zshValueLines({ path, options }: CommandNode): string[] {
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

function zshNodeLines({ path, commands, options, takesFile, choices }: CommandNode): string {
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

/** The completion of fish 3.2 or newer. */
export function fishScript(program: CommandNode): string {
  const nodes = allNodes(program);
  return `# Completion of holdfast in fish: holdfast completion fish | source
function __holdfast_at
  set -l path
  for word in (commandline -opc)[2..]
    if test "$word" = --
      set path /command
      break
    end
    switch "$path/$word"
${nodes.flatMap(fishStepLines).join('\n')}
    end
  end
  test "$path" = "$argv[1]"
end
complete -c holdfast -f
complete -c holdfast -n '__holdfast_at /command' -F -a '(__fish_complete_command)'
${nodes.flatMap(fishNodeLines).join('\n')}
`;
}

function fishStepLines({ path, commands }: CommandNode): string[] {
  return commands.map(
    (one) => `      case ${quoted(`${path}/${one.name}`)}
        set path ${quoted(one.path)}`,
  );
}

function fishNodeLines({ path, commands, options, takesFile, choices }: CommandNode): string[] {
  const at = `complete -c holdfast -n ${quoted(`__holdfast_at ${quoted(path)}`)}`;
  return [
    ...commands.map((one) => `${at} -a ${one.name} -d ${quoted(shortText(one.description))}`),
    ...choices.map((one) => `${at} -a ${one}`),
    ...(takesFile ? [`${at} -F`] : []),
    ...options.map((option) => `${at} ${optionWords(option)}`),
  ];
}

function optionWords({ names, description, value }: OptionNode): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const values = {
    none: '',
    text: ' -x',
    file: ' -r -F',
    choice: value.kind === 'choice' ? ` -x -a ${quoted(value.choices.join(' '))}` : '',
  };
  return `${flags.join(' ')} -d ${quoted(shortText(description))}${values[value.kind]}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
