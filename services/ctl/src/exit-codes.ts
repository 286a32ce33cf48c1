import { cliExitCodes } from '@headset-cloud/kit/cli/exit-codes.ts';

/** The exit codes; also listed in `--help` and README.md. */
export const exitCodes = {
  /** Refused `status`: a process is not ready, or one of them is not reached. */
  ...cliExitCodes,
  /** `status`: all services are ready, but continue without something outside. */
  warnings: 5,
} as const;
