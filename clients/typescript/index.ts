export { deadline } from './deadline';
export { duration } from './duration';
export { holdfastError, type HoldfastFault } from './holdfast-error';
