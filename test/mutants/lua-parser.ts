/** The part of a text between two offsets. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** `operator` is the outermost binary operator. '' without one. */
export type Condition = Range & { readonly operator: string };

/** A place of a Lua text that mutations change. `statement` is the start of the innermost statement around it. */
export type LuaNode = Range & { readonly statement: number } & (
    | { readonly kind: 'statement' | 'local' | 'function' }
    /** `if ... end`: the conditions of its clauses, and whether a single statement is all that it guards. */
    | {
        readonly kind: 'if';
        readonly conditions: readonly Condition[];
        readonly hasElse: boolean;
        readonly only?: number;
      }
    /** An assignment to several variables. */
    | { readonly kind: 'assignment'; readonly targets: readonly Range[]; readonly values: readonly Range[] }
    /** `left and right`, or `left or right`. */
    | {
        readonly kind: 'and' | 'or';
        readonly left: Range;
        readonly right: Range;
        readonly isLeftSame: boolean;
      }
    /** A call of math.max or math.min. */
    | { readonly kind: 'extreme'; readonly values: readonly Range[] }
    /** A field with a name, of a table constructor. */
    | { readonly kind: 'field' }
    /** `local NAME = number` at the outermost level. `value` is the number. */
    | { readonly kind: 'constant'; readonly value: Range }
  );

type Token = Range & { readonly text: string; readonly isName: boolean };

const TOKEN =
  /^#!.*|--[^\n]*|\s+|('(?:[^'\\\n]|\\.)*')|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.])/gy;
const KEYWORDS = new Set(
  (
    'and break do else elseif end false for function if in local nil not or repeat return then true ' +
    'until while'
  ).split(' '),
);
/** The precedence of each binary operator. A right operand binds tighter than its operator. */
const PRECEDENCE = new Map(
  [['or'], ['and'], ['<', '>', '<=', '>=', '~=', '=='], ['..'], ['+', '-'], ['*', '/', '%']].flatMap(
    (operators, level) => operators.map((operator) => [operator, level + 1] as const),
  ),
);
const TIGHTEST = PRECEDENCE.size + 1;
const UNARY = new Set(['not', '-', '#']);
const BLOCK_END = new Set(['end', 'else', 'elseif', 'until', '']);

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index !== end) break;
    end += match[0].length;
    const [all, quoted, number, name, symbol] = match;
    if (quoted ?? number ?? name ?? symbol)
      tokens.push({ start: match.index, end, text: all, isName: name !== undefined && !KEYWORDS.has(all) });
  }
  if (end !== text.length) throw new Error(`this Lua cannot be read: ${text.slice(end, end + 40)}`);
  return [...tokens, { start: end, end, text: '', isName: false }];
}

/** Reads the Lua of this project's scripts: Lua 5.1 without `repeat`, `do` blocks, methods, long texts and long comments. */
class Parser {
  readonly nodes: LuaNode[] = [];
  private readonly tokens: readonly Token[];
  private index = 0;
  private statement = 0;
  private depth = 0;

  constructor(private readonly text: string) {
    this.tokens = tokensOf(text);
  }

  private get token(): Token {
    return this.tokens[this.index] as Token;
  }

  private get lastEnd(): number {
    return this.tokens[this.index - 1]?.end ?? 0;
  }

  private take(text: string): boolean {
    if (this.token.text !== text) return false;
    this.index += 1;
    return true;
  }

  private need(text: string): void {
    if (this.take(text)) return;
    const { start } = this.token;
    const line = this.text.slice(0, start).split('\n').length;
    throw new Error(`line ${line}: "${text}" expected, not "${this.token.text}"`);
  }

  private name(): void {
    if (!this.token.isName) this.need('a name');
    this.index += 1;
  }

  /** Reads statements up to the end of the block, and returns their starts. */
  block(): number[] {
    const starts: number[] = [];
    this.depth += 1;
    while (!BLOCK_END.has(this.token.text)) {
      const outer = this.statement;
      this.statement = this.token.start;
      starts.push(this.statement);
      this.oneStatement();
      this.take(';');
      this.statement = outer;
    }
    this.depth -= 1;
    return starts;
  }

  private oneStatement(): void {
    const { start, text } = this.token;
    const add = (kind: 'statement' | 'local' | 'function') =>
      void this.nodes.push({ kind, start, end: this.lastEnd, statement: start });
    if (text === 'if') return this.ifStatement(start);
    if (text === 'local') return this.localStatement(start);
    if (this.take('for')) {
      this.list(() => this.name());
      if (!this.take('=')) this.need('in');
      this.list(() => this.expression());
      this.need('do');
      this.block();
      this.need('end');
      return add('statement');
    }
    if (this.take('while')) {
      this.expression();
      this.need('do');
      this.block();
      this.need('end');
      return add('statement');
    }
    if (this.take('return')) {
      if (!BLOCK_END.has(this.token.text)) this.list(() => this.expression());
      return add('statement');
    }
    if (this.take('break')) return add('statement');
    const targets = this.list(() => this.suffixed());
    if (this.take('=')) {
      const values = this.list(() => this.expression());
      if (targets.length > 1 && targets.length === values.length)
        this.nodes.push({ kind: 'assignment', start, end: this.lastEnd, statement: start, targets, values });
    }
    add('statement');
  }

  private ifStatement(start: number): void {
    const conditions: Condition[] = [];
    const bodies: number[][] = [];
    do {
      this.index += 1;
      conditions.push(this.expression());
      this.need('then');
      bodies.push(this.block());
    } while (this.token.text === 'elseif');
    const hasElse = this.take('else');
    if (hasElse) this.block();
    this.need('end');
    const [first = []] = bodies;
    const only = bodies.length === 1 && !hasElse && first.length === 1 ? first[0] : undefined;
    const node = { kind: 'if', start, end: this.lastEnd, statement: start, conditions, hasElse } as const;
    this.nodes.push(only === undefined ? node : { ...node, only });
  }

  private localStatement(start: number): void {
    this.index += 1;
    if (this.take('function')) {
      this.name();
      this.functionBody();
      this.nodes.push({ kind: 'function', start, end: this.lastEnd, statement: start });
      return;
    }
    const names = this.list(() => this.name());
    const values = this.take('=') ? this.list(() => this.expression()) : [];
    const [name, value] = [names[0], values[0]].map((range) => range && this.textOf(range));
    const isConstant =
      this.depth === 1 && /^[A-Z_]+$/.test(name ?? '') && /^(\d+|'\w'|KEYS.*)$/.test(value ?? '');
    const node = { start, end: this.lastEnd, statement: start };
    if (!isConstant) this.nodes.push({ ...node, kind: 'local' });
    else if (values[0] && /^\d+$/.test(value ?? ''))
      this.nodes.push({ ...node, kind: 'constant', value: values[0] });
  }

  private textOf({ start, end }: Range): string {
    return this.text.slice(start, end);
  }

  private functionBody(): void {
    this.need('(');
    if (!this.take(')')) {
      this.list(() => void (this.take('...') || this.name()));
      this.need(')');
    }
    this.block();
    this.need('end');
  }

  /** Reads items that are separated by commas. */
  private list(item: () => void): Range[] {
    const items: Range[] = [];
    do {
      const { start } = this.token;
      item();
      items.push({ start, end: this.lastEnd });
    } while (this.take(','));
    return items;
  }

  private expression(least = 1): Condition {
    const { start } = this.token;
    let left = { start, end: start, operator: '' };
    if (UNARY.has(this.token.text)) {
      this.index += 1;
      this.expression(TIGHTEST);
    } else {
      this.simple();
    }
    left = { start, end: this.lastEnd, operator: '' };
    for (;;) {
      const operator = this.token.text;
      const level = PRECEDENCE.get(operator);
      if (level === undefined || level < least) return left;
      this.index += 1;
      const right = this.expression(level + 1);
      const whole = { start, end: this.lastEnd };
      if (operator === 'and' || operator === 'or') {
        const isLeftSame = left.operator === operator;
        this.nodes.push({ ...whole, kind: operator, statement: this.statement, left, right, isLeftSame });
      }
      left = { ...whole, operator };
    }
  }

  private simple(): void {
    if (this.token.text === '{') return this.table();
    if (this.take('function')) return this.functionBody();
    if (this.token.isName || this.token.text === '(') return void this.suffixed();
    this.index += 1; // a number, a text, true, false, nil or `...`
  }

  /** A variable, a field, a call, or parentheses. */
  private suffixed(): void {
    const { start } = this.token;
    if (this.take('(')) {
      this.expression();
      this.need(')');
    } else {
      this.name();
    }
    for (;;) {
      if (this.take('.')) {
        this.name();
      } else if (this.take('[')) {
        this.expression();
        this.need(']');
      } else if (this.token.text === '(') {
        const callee = this.text.slice(start, this.lastEnd);
        this.index += 1;
        const values = this.take(')') ? [] : this.list(() => this.expression());
        if (this.tokens[this.index - 1]?.text !== ')' || values.length > 0) this.need(')');
        if (callee === 'math.max' || callee === 'math.min')
          this.nodes.push({ kind: 'extreme', start, end: this.lastEnd, statement: this.statement, values });
      } else {
        return;
      }
    }
  }

  private table(): void {
    this.need('{');
    while (!this.take('}')) {
      const { start, isName } = this.token;
      const isNamed = isName && this.tokens[this.index + 1]?.text === '=';
      if (isNamed) this.index += 2;
      this.expression();
      const end = this.lastEnd;
      const hasComma = this.take(',');
      if (isNamed)
        this.nodes.push({
          kind: 'field',
          start,
          end: hasComma ? this.lastEnd : end,
          statement: this.statement,
        });
    }
  }
}

/** The places of a Lua text that mutations change, in the order of the text. */
export function parseLua(text: string): readonly LuaNode[] {
  const parser = new Parser(text);
  parser.block();
  return parser.nodes.sort((a, b) => a.start - b.start || b.end - a.end);
}
