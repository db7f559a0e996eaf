import type { Command, Option } from 'commander';

/** What a word after an option can be. */
export type ValueKind =
  | { readonly kind: 'none' }
  | { readonly kind: 'text' }
  | { readonly kind: 'file' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

export interface OptionNode {
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
export function allNodes(node: CommandNode): CommandNode[] {
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
export function shortText(text: string): string {
  return text.replaceAll('\n', ' ').replace(/\.( .*)?$/, '');
}

/** A word in single quotes for bash and zsh. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
