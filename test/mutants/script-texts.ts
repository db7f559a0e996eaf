import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as generated from '../../generated/redis/scripts';
import * as making from '../../src/redis/script';
import type { Script } from '../../src/redis/script';
import { ROOT } from '../support/root';

interface Embedding {
  embeddedScripts(read?: (path: string) => string): Map<string, string>;
}

const FOLDER = join(ROOT, 'src');
const LIBRARY = '#!lua name=';
/** In place of a library, so that none is composed of changed sources. */
const NOTHING = '#!lua\n';
const sourceName = (path: string): string => relative(FOLDER, path).split(sep).join('/');

/** The scripts by the names of their constants. */
export type Scripts = ReadonlyMap<string, Pick<Script, 'text' | 'sha'>>;

/** Modules that are loaded from now on get a copy of the module's exports, which can be changed. Returns the copy. */
function changeable<Exports extends object>(path: string, exports: Exports): Exports {
  // Without the mark, `import * as` would copy it once more.
  const copy = Object.defineProperty({ ...exports }, '__esModule', { value: true });
  const loaded = require.cache[require.resolve(path)];
  if (loaded === undefined) throw new Error(`${path} is not loaded`);
  loaded.exports = copy;
  return copy;
}

/**
 * Replaces the texts of the scripts in this process, and runs all operations by their scripts. Create this object before a test
 * file is loaded.
 */
export class ScriptTexts {
  /** The sources by their paths below src, as they were at the start. Libraries are left out. */
  readonly sources: ReadonlyMap<string, string>;
  private readonly unbroken: Scripts;
  private present: Scripts;
  private readonly texts = changeable('../../generated/redis/scripts', generated);

  private constructor(private readonly embedding: Embedding) {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
    this.sources = new Map(
      files
        .filter((file) => file.endsWith('.lua'))
        .map((file) => [sourceName(join(FOLDER, file)), readFileSync(join(FOLDER, file), 'utf8')] as const)
        .filter(([, text]) => !text.startsWith(LIBRARY)),
    );
    this.unbroken = this.embed();
    this.present = this.unbroken;
    const names = new Map([...this.unbroken].map(([name, { text }]) => [text, name]));
    const present = (name: string) => this.present.get(name) as Pick<Script, 'text' | 'sha'>;
    const original = making.script;
    // The modules of the server keep the object that this function returns.
    const script: typeof original = (text, options) => {
      const name = names.get(text);
      const { isTimed } = original(text, options);
      if (name === undefined) return original(text, options);
      return {
        isTimed,
        get text() {
          return present(name).text;
        },
        get sha() {
          return present(name).sha;
        },
      };
    };
    const operation: typeof making.operation = (_library, _name, text) => script(text);
    Object.assign(changeable('../../src/redis/script', making), { script, operation });
  }

  static async open(): Promise<ScriptTexts> {
    const { href } = pathToFileURL(join(ROOT, 'tools', 'embed-scripts.mjs'));
    return new ScriptTexts((await import(href)) as Embedding);
  }

  /** The scripts with other texts for some source files. `change` changes the text of each script afterwards. */
  embed(changed: ReadonlyMap<string, string> = new Map(), change = (text: string): string => text): Scripts {
    const read = (path: string): string => {
      const name = sourceName(path);
      return changed.get(name) ?? this.sources.get(name) ?? NOTHING;
    };
    const all = [...this.embedding.embeddedScripts(read)].filter(
      ([, text]) => text.trim() !== NOTHING.trim(),
    );
    return new Map(
      all.map(([name, embedded]) => {
        const text = change(embedded);
        return [name, { text, sha: createHash('sha1').update(text).digest('hex') }];
      }),
    );
  }

  /** From now on, the server runs these scripts. By default its own. */
  use(scripts: Scripts = this.unbroken): void {
    this.present = scripts;
    for (const [name, { text }] of scripts) Object.assign(this.texts, { [name]: text });
  }
}
