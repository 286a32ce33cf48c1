/** Calls `then` at each Ctrl-C (SIGINT) and SIGTERM from now on. Returns a function that stops this. */
export type OnInterrupt = (then: () => void) => () => void;

/** Signals of a process. Without a listener they end the process at once. */
export function signals(of: NodeJS.Process): OnInterrupt {
  return (then) => {
    of.on('SIGINT', then).on('SIGTERM', then);
    return () => void of.off('SIGINT', then).off('SIGTERM', then);
  };
}
