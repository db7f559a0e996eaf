'use strict';

/**
 * How the build compiles a source. tsconfig.json says how its types are checked, and how the npm package of the client is
 * compiled, which also has types.
 */
module.exports = {
  swcrc: false,
  sourceMaps: true,
  inlineSourcesContent: false,
  // `import()` stays, so that a command loads only what it needs. The annotation names the exports for `import()`, which
  // does not see the getters of swc.
  module: { type: 'commonjs', ignoreDynamic: true, exportInteropAnnotation: true },
  jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
};
