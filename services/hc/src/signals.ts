/** Calls `then` at each Ctrl-C (SIGINT) and SIGTERM from now on; answers what ends that. */
export type OnInterrupt = (then: () => void) => () => void;

/** The signals of a process. They end it at once while nobody listens. */
export function signals(of: NodeJS.Process): OnInterrupt {
  return (then) => {
    of.on('SIGINT', then).on('SIGTERM', then);
    return () => void of.off('SIGINT', then).off('SIGTERM', then);
  };
}
