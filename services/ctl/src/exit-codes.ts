import { cliExitCodes } from '@headset-cloud/cli/exit-codes.ts';

/** The exit codes; also listed in `--help` and README.md. */
export const exitCodes = {
  /** `refused` of `status`: a process is not ready, or cannot be reached. */
  ...cliExitCodes,
  /** `status`: all services are ready, but some dependencies are degraded. */
  warnings: 5,
} as const;
