/**
 * Reads `apt-cache depends --recurse`: which packages must be unpacked so that a program of one of them runs.
 * Package names differ from release to release (libhiredis0.14, libhiredis1.1.0), so they are asked for.
 */

/** One dependency: any of these packages will do. */
type Alternatives = readonly string[];

/**
 * Lines look like this; a `|` in front says that the next line is an alternative, what is indented deeper are
 * packages that provide the one above, and `<name>` is a name that only others provide:
 *
 *     redis-server
 *       Depends: redis-tools
 *      |Depends: lsb-base
 *       Depends: sysvinit-utils
 */
export function parseDepends(text: string): ReadonlyMap<string, readonly Alternatives[]> {
  const packages = new Map<string, Alternatives[]>();
  let current: Alternatives[] = [];
  let open: string[] = [];
  for (const line of text.split('\n')) {
    const depends = /^ ([ |])(?:Pre)?Depends: (.+)$/.exec(line);
    if (depends) {
      open.push(depends[2] ?? '');
      if (depends[1] === '|') continue;
      current.push(open);
      open = [];
    } else if (/^[^ <]/.test(line)) {
      current = packages.get(line) ?? [];
      packages.set(line, current);
      open = [];
    }
  }
  return packages;
}

/** Libraries are all that a program needs to run; users, init scripts and the like it does without. */
function isLibrary(name: string): boolean {
  return /^(lib|lua-)/.test(name);
}

/**
 * The packages to unpack for `wanted`: these themselves and every library below them that is not installed.
 * The C library is always installed, and must be: a second one beside the machine's loader would crash.
 */
export function packagesToUnpack(
  wanted: readonly string[],
  depends: ReadonlyMap<string, readonly Alternatives[]>,
  installed: ReadonlySet<string>,
): string[] {
  const chosen = new Set<string>();
  const queue = wanted.filter((name) => depends.has(name));
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (chosen.has(name)) continue;
    chosen.add(name);
    for (const alternatives of depends.get(name) ?? []) {
      if (alternatives.some((one) => installed.has(one) || chosen.has(one))) continue;
      const library = alternatives.find((one) => isLibrary(one) && depends.has(one));
      if (library !== undefined) queue.push(library);
    }
  }
  return [...chosen];
}
