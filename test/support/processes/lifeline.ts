/** The variable that names the lifeline's socket; set by global-setup.ts. Servers refuse a HOLDFAST_ they do not know. */
const VARIABLE = 'TEST_RUN_LIFELINE';

/**
 * The socket that the test run's main process holds open. Processes that a test starts end when it closes: a
 * killed test run leaves its workers behind, and they would leave their servers.
 */
export function lifeline(): { readonly lifeline?: string } {
  const socket = process.env[VARIABLE];
  return socket === undefined ? {} : { lifeline: socket };
}

export function announceLifeline(socket: string): void {
  process.env[VARIABLE] = socket;
}
