/** The exit codes of the command lines; also listed in their `--help` and README.md. */
export const exitCodes = {
  ok: 0,
  /** The server rejected the call, or the call failed. `ctl status`: a process is not ready, or cannot be reached. */
  refused: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The server cannot be reached, or did not answer in time. */
  unreachable: 3,
  /** A token, or the credentials for it, are missing or wrong. */
  unauthenticated: 4,
  /** `ctl status`: all services are ready, but some dependencies are degraded. */
  warnings: 5,
  /** Ctrl-C, by the convention of shells: 128 plus the signal's number. */
  interrupted: 130,
} as const;

/** A failure with a message for the user: what happened, and how to fix it. */
export class CliError extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

export const usageError = (message: string, options?: { cause?: unknown }) =>
  new CliError(exitCodes.usage, message, options);
export const refusedError = (message: string, options?: { cause?: unknown }) =>
  new CliError(exitCodes.refused, message, options);

/** The reader of standard output closed it, as `head` does: the command ends without a message. */
export class OutputClosed extends CliError {
  constructor(cause: unknown) {
    super(exitCodes.ok, 'The reader of standard output has closed it.', { cause });
    this.name = 'OutputClosed';
  }
}

/**
 * Rethrows every error except OutputClosed. A catch handler for commands that continue after their output, or that set
 * their own exit code.
 */
export function exceptOutputClosed(error: unknown): void {
  if (!(error instanceof OutputClosed)) throw error;
}
