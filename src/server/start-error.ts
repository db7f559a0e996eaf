/** The server cannot start. The message is for the operator and says which setting to change. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
