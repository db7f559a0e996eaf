import { allNodes, shortText, type CommandNode, type OptionNode } from './command-tree';

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
${nodes.flatMap(stepLines).join('\n')}
    end
  end
  test "$path" = "$argv[1]"
end
complete -c holdfast -f
complete -c holdfast -n '__holdfast_at /command' -F -a '(__fish_complete_command)'
${nodes.flatMap(nodeLines).join('\n')}
`;
}

function stepLines({ path, commands }: CommandNode): string[] {
  return commands.map(
    (one) => `      case ${quoted(`${path}/${one.name}`)}
        set path ${quoted(one.path)}`,
  );
}

function nodeLines({ path, commands, options, takesFile, choices }: CommandNode): string[] {
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
