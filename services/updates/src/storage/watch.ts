import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Warning } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/runtime/repeat.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';

/**
 * Checks the storage at once and then every `intervalMs`, and calls `onCheck` with the result. Logs one line when the
 * storage becomes unavailable, with `place` and the reason, one when the reason changes, and one when the storage is
 * available again. `warnings` has the reason in the meantime. Readiness does not change: otherwise every instance would
 * be removed at once, although lists and updates work without the storage.
 */
export function watchStorage(options: {
  readonly storage: Pick<ArtifactStorage, 'requireAvailable'>;
  readonly place: Readonly<Record<string, string>>;
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly onCheck: (available: boolean) => void;
}): Repetition & { warnings(): readonly Warning[] } {
  const { storage, place, intervalMs, logger, onCheck } = options;
  let known: string | undefined;
  const look = async (): Promise<number> => {
    const reason = await storage.requireAvailable(0).then(() => undefined, reasonOf);
    onCheck(reason === undefined);
    if (reason !== known) {
      if (reason !== undefined) logger.error({ ...place, reason }, 'the object storage is unavailable');
      else logger.info(place, 'the object storage is available again');
    }
    known = reason;
    return 0;
  };
  const repetition = repeat('the check of the object storage', intervalMs, logger, look);
  return {
    ...repetition,
    warnings: () => (known === undefined ? [] : [{ name: 'storage_unavailable', message: known }]),
    start() {
      repetition.start();
      repetition.wake();
    },
  };
}

function reasonOf(error: unknown): string {
  return (error instanceof DomainError && error.internal) || (error as Error).message;
}
