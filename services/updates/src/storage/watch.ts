import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Warning } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/runtime/repeat.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';

/**
 * Checks the storage at once and then every `intervalMs`, and calls `onCheck` with the result. Logs one line, with
 * `location`, when the storage becomes unavailable, when the reason changes, and when the storage is available again.
 * While the storage is unavailable, `warnings` returns the reason. Readiness does not depend on the storage: otherwise
 * all instances would become unready at once, although lists and updates work without it.
 */
export function watchStorage(options: {
  readonly storage: Pick<ArtifactStorage, 'requireAvailable'>;
  readonly location: Readonly<Record<string, string>>;
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly onCheck: (available: boolean) => void;
}): Repetition & { warnings(): readonly Warning[] } {
  const { storage, location, intervalMs, logger, onCheck } = options;
  let lastReason: string | undefined;
  const checkOnce = async (): Promise<number> => {
    const reason = await storage.requireAvailable(0).then(() => undefined, reasonOf);
    onCheck(reason === undefined);
    if (reason !== lastReason) {
      if (reason !== undefined) logger.error({ ...location, reason }, 'the object storage is unavailable');
      else logger.info(location, 'the object storage is available again');
    }
    lastReason = reason;
    return 0;
  };
  const repetition = repeat('the check of the object storage', intervalMs, logger, checkOnce);
  return {
    ...repetition,
    warnings: () => (lastReason === undefined ? [] : [{ name: 'storage_unavailable', message: lastReason }]),
    start() {
      repetition.start();
      repetition.wake();
    },
  };
}

function reasonOf(error: unknown): string {
  return (error instanceof DomainError && error.internal) || (error as Error).message;
}
