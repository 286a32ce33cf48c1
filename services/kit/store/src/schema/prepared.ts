import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type Starting, StartStoppedError } from '@headset-cloud/runtime/start-up.ts';
import type { Store } from '../types.ts';
import { createStepRunner, type StepsDocument, stepsCollection, stepsId } from './runner.ts';
import { nextStep, prepareCommand, type ServiceSteps, stepText } from './steps.ts';

/** Time limit for releasing the step after a stop; milliseconds. */
const stopMs = 3000;

/** Parts of a service's context that decide who runs its steps. */
export interface StepsContext {
  /** The service's own database. */
  readonly store: Store;
  readonly logger: Logger;
  /** Identifies this process among its service's instances; new at each start. */
  readonly instanceId: string;
  /**
   * Who runs the steps of the service's database. 'run' (default): the service itself. 'wait': services/prepare; the
   * start waits for it.
   */
  readonly schema?: 'run' | 'wait';
  /** True: no other process can have the store open (the embedded stack). */
  readonly exclusive?: boolean;
  /** State of the start, from the host; absent: the start cannot be stopped and reports no progress. */
  readonly starting?: Starting;
}

/**
 * Resolves when the service's database has all steps of this version; the database of a newer version has them, too.
 * Runs the missing steps. With SCHEMA=wait, waits until `services/prepare` has run them.
 */
export async function prepared(
  ctx: StepsContext,
  steps: ServiceSteps,
  time: Time = systemTime,
): Promise<void> {
  const { store, logger, instanceId, exclusive = false, starting } = ctx;
  const runner = createStepRunner({
    ...{ store, steps, logger, time },
    holder: instanceId,
    alone: exclusive,
    ...(starting && { signal: starting.signal, doing: starting.doing }),
  });
  let inProgress: Promise<void> | undefined;
  const attempt = () => {
    if (ctx.schema === 'wait') return requireSteps(store, steps);
    inProgress = runner.attempt();
    return inProgress;
  };
  /** Retries while another run holds the step. Used if the store has no `whenReachable`, which retries itself. */
  const untilDone = async (): Promise<void> => {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof DomainError && error.code === 'unavailable')) throw error;
      }
      await time.sleep(20);
    }
  };
  try {
    await (store.whenReachable ?? untilDone)('the steps of the database', attempt);
  } catch (error) {
    // Waits until the running step has released its lease, because the host closes the database after this error.
    if (error instanceof StartStoppedError)
      await Promise.race([Promise.allSettled([inProgress]), time.sleep(stopMs, { ref: false })]);
    throw error;
  }
}

/** Throws a transient DomainError that names the missing step and the command for it, until the steps are done. */
async function requireSteps(store: Store, steps: ServiceSteps): Promise<void> {
  const found = await store.collection<StepsDocument>(stepsCollection).findOne({ _id: stepsId });
  const step = nextStep(steps, found?.done ?? 0);
  if (!step) return;
  throw new DomainError(
    'unavailable',
    `${stepText(steps, step)} is not done. This makes it: ${prepareCommand} (services/prepare)`,
  );
}
