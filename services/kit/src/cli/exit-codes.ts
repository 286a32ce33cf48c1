/** The exit codes of the command lines; also listed in their `--help` and README.md. */
export const cliExitCodes = {
  ok: 0,
  /** The call was refused, or failed. */
  refused: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The other side cannot be reached, or did not answer in time. */
  unreachable: 3,
  /** A token, or what it is got with, is missing or wrong. */
  unauthenticated: 4,
} as const;

/** A failure with a message for the user: what happened, and what to do. */
export class CliError extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** The reader of standard output has closed it, as `head` does: the command ends in silence. */
export class OutputClosed extends CliError {
  constructor(cause: unknown) {
    super(cliExitCodes.ok, 'The reader of standard output has closed it.', { cause });
    this.name = 'OutputClosed';
  }
}

/** For a command that has more to do, or an exit code of its own: throws every error but OutputClosed. */
export function exceptOutputClosed(error: unknown): void {
  if (!(error instanceof OutputClosed)) throw error;
}
