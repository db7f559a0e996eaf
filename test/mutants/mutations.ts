import { parseLua, type Condition, type LuaNode, type Range } from './lua-parser';

/** One changed place of a script's source. */
export interface Mutant {
  /** The path below src. */
  readonly file: string;
  readonly line: number;
  /** The change, unique in its file. It names the Lua and no line, so that it stays the same when lines move. */
  readonly change: string;
  /** The text of the file with the change. */
  readonly text: string;
  /** The start of the statement that the change is in. Undefined for a constant, which no statement executes. */
  readonly statement: number | undefined;
}

interface Edit {
  readonly at: Range;
  readonly put: string;
  readonly change: string;
}

const SHOWN = 100;

/**
 * The changes of one place. A statement is deleted, an `if` with its whole body too. A condition becomes true or false.
 * An operand of `and` or `or` is left out. math.max and math.min become one of their values. A target of a multiple
 * assignment and a named field are left out. A constant is doubled and halved.
 */
function editsOf(text: string, node: LuaNode): Edit[] {
  const shown = ({ start, end }: Range): string => {
    const all = text
      .slice(start, end)
      .replace(/\s*--.*$/gm, '')
      .replace(/\s+/g, ' ')
      .replace(/,$/, '');
    return `\`${all.length > SHOWN ? `${all.slice(0, SHOWN)}...` : all}\``;
  };
  const source = ({ start, end }: Range): string => text.slice(start, end);
  const remove: Edit = { at: node, put: '', change: `delete ${shown(node)}` };
  switch (node.kind) {
    case 'statement':
    case 'field':
      return [remove];
    case 'local':
    case 'function':
      return []; // every use of a missing variable or function fails
    case 'if': {
      const isSole = node.conditions.length === 1 && !node.hasElse;
      const needs = ({ operator }: Condition, put: string): boolean => {
        if (isSole && put === 'false') return false; // this is the deletion
        // A test that fails without one operand fails here too.
        return operator !== (put === 'true' ? 'and' : 'or');
      };
      const of = (at: Condition) =>
        ['true', 'false']
          .filter((put) => needs(at, put))
          .map((put) => ({ at, put, change: `${put} for ${shown(at)}` }));
      return [remove, ...node.conditions.flatMap(of)];
    }
    case 'and':
    case 'or': {
      const { left, right } = node;
      const without = (kept: Range, dropped: Range): Edit => ({
        at: node,
        put: source(kept),
        change: `${shown(node)} without ${shown(dropped)}`,
      });
      return node.isLeftSame ? [without(left, right)] : [without(left, right), without(right, left)];
    }
    case 'extreme':
      return node.values.map((value) => ({
        at: node,
        put: source(value),
        change: `${shown(value)} for ${shown(node)}`,
      }));
    case 'assignment':
      return node.targets.map((target, i) => {
        const others = (list: readonly Range[]) =>
          list
            .filter((_, at) => at !== i)
            .map(source)
            .join(', ');
        const put = `${others(node.targets)} = ${others(node.values)}`;
        return { at: node, put, change: `${shown(node)} without ${shown(target)}` };
      });
    case 'constant': {
      const value = Number(source(node.value));
      return [value * 2, Math.floor(value / 2)].map((put) => ({
        at: node.value,
        put: String(put),
        change: `${put} in ${shown(node)}`,
      }));
    }
  }
}

/** All mutants of a file, in the order of its lines. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const nodes = parseLua(text);
  // The deletion of the only statement that an `if` guards equals the deletion of this `if`.
  const guarded = new Set(nodes.map((node) => (node.kind === 'if' ? node.only : undefined)));
  const counts = new Map<string, number>();
  return nodes.flatMap((node) => {
    const edits = editsOf(text, node).filter(
      ({ at, put }) => !(put === '' && at === node && node.kind !== 'field' && guarded.has(node.start)),
    );
    return edits.map(({ at, put, change }) => {
      const count = (counts.get(change) ?? 0) + 1;
      counts.set(change, count);
      return {
        file,
        line: text.slice(0, at.start).split('\n').length,
        change: count === 1 ? change : `${change} (${count})`,
        text: text.slice(0, at.start) + put + text.slice(at.end),
        statement: node.kind === 'constant' ? undefined : node.statement,
      };
    });
  });
}

/**
 * The text with a mark before each statement, in the same line, because tools/embed-scripts.mjs finds the ends of functions
 * by lines. `mark` returns the Lua for the statement that starts at an offset.
 */
export function marked(text: string, mark: (statement: number) => string): string {
  const starts = new Set(
    parseLua(text).flatMap((node) => (isMarkable(node) && !isArguments(text, node) ? [node.start] : [])),
  );
  return [...starts]
    .sort((a, b) => b - a)
    .reduce((all, start) => `${all.slice(0, start)}${mark(start)} ${all.slice(start)}`, text);
}

/** A function and a constant run nothing, and a mark would keep tools/embed-scripts.mjs from seeing a constant. */
function isMarkable({ kind }: LuaNode): boolean {
  return kind === 'statement' || kind === 'local' || kind === 'if';
}

/** tools/embed-scripts.mjs must also see the statement that names the arguments of an operation. */
function isArguments(text: string, { start, end }: Range): boolean {
  return /^local [\w, ]+ = \.\.\.$/.test(text.slice(start, end).trimEnd());
}
