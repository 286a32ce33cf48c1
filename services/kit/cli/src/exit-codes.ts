/** The exit codes of the command lines; also listed in their `--help` and README.md. */
export const cliExitCodes = {
  ok: 0,
  /** The server rejected the call, or the call failed. */
  refused: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The server cannot be reached, or did not answer in time. */
  unreachable: 3,
  /** A token, or the credentials for it, are missing or wrong. */
  unauthenticated: 4,
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

/** The reader of standard output closed it, as `head` does: the command ends without a message. */
export class OutputClosed extends CliError {
  constructor(cause: unknown) {
    super(cliExitCodes.ok, 'The reader of standard output has closed it.', { cause });
    this.name = 'OutputClosed';
  }
}

/** Catch handler for a command that continues after its output, or sets its own exit code: rethrows every error except OutputClosed. */
export function exceptOutputClosed(error: unknown): void {
  if (!(error instanceof OutputClosed)) throw error;
}
