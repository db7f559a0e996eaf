/**
 * Finds the packages that a program needs, in the output of `apt-cache depends --recurse`. A fixed list of packages is
 * not possible, because the names of library packages differ between Debian releases (libhiredis0.14, libhiredis1.1.0).
 */

/** One dependency. Any package of the list satisfies the dependency. */
type Alternatives = readonly string[];

/**
 * Parses the lines of the example below. A `|` marks the next line as an alternative. A deeper indentation marks a
 * package that provides the package above. `<name>` is a virtual package.
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

/** Only libraries are needed to run a program. Packages with system users and init scripts are not needed. */
function isLibrary(name: string): boolean {
  return /^(lib|lua-)/.test(name);
}

/**
 * The packages to unpack: the wanted packages, and each library that they need and that is not installed. A Debian
 * machine always has the C library installed, so the result never contains the C library. A program with another C
 * library would crash, because the machine's loader fits only the installed C library.
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
      if (alternatives.some((candidate) => installed.has(candidate) || chosen.has(candidate))) continue;
      const library = alternatives.find((candidate) => isLibrary(candidate) && depends.has(candidate));
      if (library !== undefined) queue.push(library);
    }
  }
  return [...chosen];
}
