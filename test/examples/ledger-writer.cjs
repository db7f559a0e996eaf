'use strict';
/**
 * Writes to a ledger with mostly rising tokens. Prints for each write the begin, the end, and whether the ledger
 * accepted the write. `ledger.test.ts` runs several of these programs at the same time.
 *
 *     node ledger-writer.cjs <ledger.js> <folder> <writer number> <writes>
 */
const [ledgerModule, folder, writer, writes] = process.argv.slice(2);
const { Ledger } = require(ledgerModule);

const MAX_AGE_US = 5000;

const ledger = new Ledger(folder);
const records = [];
for (let round = 1; round <= Number(writes); round++) {
  // Tokens follow a clock that all writers share, like the fencing tokens of a lock. Two writers never have the same
  // token. Every third token is too old.
  const age = round % 3 === 0 ? Math.floor(Math.random() * MAX_AGE_US) : 0;
  const token = (process.hrtime.bigint() / 1000n - BigInt(age)) * 10n + BigInt(writer);
  const begun = process.hrtime.bigint();
  const { accepted } = ledger.write(token, writer, `round ${round}`);
  records.push({
    token: Number(token),
    begun: String(begun),
    over: String(process.hrtime.bigint()),
    accepted,
  });
}
process.stdout.write(JSON.stringify(records));
