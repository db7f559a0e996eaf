/** Ctrl-C reaches a program under npm twice: from the terminal, and passed on by npm. */
const SAME_CTRL_C_MS = 500;
const INTERRUPTED = 130;

/** Aborts at the first Ctrl-C or SIGTERM; a second one, later, ends the process on the spot. */
export function stopOnSignals(say: (text: string) => void): AbortSignal {
  const stop = new AbortController();
  let askedAt = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (!stop.signal.aborted) {
      askedAt = performance.now();
      say(`${signal}: stopping after this step`);
      stop.abort();
    } else if (performance.now() - askedAt > SAME_CTRL_C_MS) {
      process.exit(INTERRUPTED);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stop.signal;
}
