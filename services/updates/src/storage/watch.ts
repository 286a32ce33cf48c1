import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Warning } from '@headset-cloud/kit/lifecycle.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { type Repetition, repeat } from '@headset-cloud/kit/repeat.ts';
import type { ArtifactStorage } from '../ports.ts';

/**
 * Looks at the storage at once and then every `intervalMs`, and tells `onLook` whether it can be used. The
 * log has one line when it cannot be, with `place` and the reason, one when the reason changes, and one when
 * it can be used again; `warnings` has it until then. Readiness is not touched: every instance would be taken
 * out at once, though lists and updates of this service work without the storage.
 */
export function watchStorage(options: {
  readonly storage: Pick<ArtifactStorage, 'requireAvailable'>;
  readonly place: Readonly<Record<string, string>>;
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly onLook: (available: boolean) => void;
}): Repetition & { warnings(): readonly Warning[] } {
  const { storage, place, intervalMs, logger, onLook } = options;
  let known: string | undefined;
  const look = async (): Promise<number> => {
    const reason = await storage.requireAvailable(0).then(() => undefined, reasonOf);
    onLook(reason === undefined);
    if (reason !== known) {
      if (reason !== undefined) logger.error({ ...place, reason }, 'the object storage cannot be used');
      else logger.info(place, 'the object storage can be used again');
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
