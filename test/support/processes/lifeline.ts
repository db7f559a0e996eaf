/** Names the variable that holds the lifeline's socket. The prefix HOLDFAST_ would make servers refuse the variable. */
const VARIABLE = 'TEST_RUN_LIFELINE';

/**
 * The socket that the main process of the test run holds open (global-setup.ts). Child processes end when the socket
 * closes: the workers of a killed test run live on, and would keep their servers alive.
 */
export function lifeline(): { readonly lifeline?: string } {
  const socket = process.env[VARIABLE];
  return socket === undefined ? {} : { lifeline: socket };
}

export function announceLifeline(socket: string): void {
  process.env[VARIABLE] = socket;
}
