'use strict';

/** How the build compiles a source. tsconfig.json says how its types are checked. */
module.exports = {
  swcrc: false,
  sourceMaps: true,
  // `import()` stays, so that a command loads only what it needs. The annotation names the exports for `import()`, which
  // does not see the getters of swc.
  module: { type: 'commonjs', ignoreDynamic: true, exportInteropAnnotation: true },
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
};
