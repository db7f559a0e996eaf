'use strict';

/** How the build compiles a source. tsconfig.json says how its types are checked. */
module.exports = {
  swcrc: false,
  sourceMaps: true,
  // `import()` stays, so that a command loads only what it needs.
  module: { type: 'commonjs', ignoreDynamic: true },
  jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
};
