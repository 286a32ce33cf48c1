/** The exit codes; also listed in `--help` and README.md. */
export const exitCodes = {
  ok: 0,
  /** The service refused the call, or failed. `status`: a process is not ready, or one of them is not reached. */
  refused: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The service cannot be reached, or did not answer in time. */
  unreachable: 3,
  /** The admin token is missing or wrong. */
  unauthenticated: 4,
  /** `status`: all services are ready, but go on without something outside. */
  warnings: 5,
} as const;

/** A failure with a message for the operator: what happened, and what to do. */
export class CtlError extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CtlError';
    this.exitCode = exitCode;
  }
}
