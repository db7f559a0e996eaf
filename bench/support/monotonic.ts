/** The machine's monotonic clock (ms), the same for all its processes: what they write down can be compared. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
