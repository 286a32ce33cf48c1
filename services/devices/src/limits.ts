import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import { effectiveLimits, type Limits } from './domain/limits.ts';
import type { ContractStore } from './ports/contract-store.ts';

/** Reads the limits of a client for an application; undefined: for calls without an application. */
export type LimitsReader = (applicationId: string | undefined) => Promise<Limits>;

/** How long a contract's limits are cached; milliseconds. A change takes effect within this time. */
const cacheMs = 2000;
/** Maximum applications in the cache. A full cache is cleared. */
const maxCachedApplications = 10_000;

/** Reads contracts' limits. Concurrent readers share one read, and each keeps its own deadline. */
export function createLimitsReader(
  contracts: Pick<ContractStore, 'limits'>,
  defaults: Limits,
  clock: Clock,
): LimitsReader {
  const nowMs = () => monotonicMs(clock);
  const kept = new Map<string, { readonly untilMs: number; readonly limits: Promise<Limits> }>();
  return async (applicationId) => {
    if (applicationId === undefined) return defaults;
    const found = kept.get(applicationId);
    if (found && found.untilMs > nowMs()) return untilDeadline(found.limits);
    const limits = withoutDeadline(() =>
      contracts.limits(applicationId).then((own) => effectiveLimits(own, defaults)),
    );
    if (kept.size >= maxCachedApplications) kept.clear();
    kept.set(applicationId, { untilMs: nowMs() + cacheMs, limits });
    limits.catch(() => kept.delete(applicationId));
    return untilDeadline(limits);
  };
}

/** The platform's defaults, from the configuration. */
export function defaultLimits(config: {
  readonly LIMIT_CALLS_PER_SECOND: number;
  readonly LIMIT_CALLS_BURST: number;
  readonly LIMIT_CALLS_UNDER_WAY: number;
  readonly LIMIT_DEVICE_CHANGES_PER_SECOND: number;
  readonly LIMIT_DEVICE_UNPROCESSED: number;
  readonly LIMIT_APPLICATION_UNPROCESSED: number;
}): Limits {
  return {
    callsPerSecond: config.LIMIT_CALLS_PER_SECOND,
    callsBurst: config.LIMIT_CALLS_BURST,
    callsUnderWay: config.LIMIT_CALLS_UNDER_WAY,
    deviceChangesPerSecond: config.LIMIT_DEVICE_CHANGES_PER_SECOND,
    deviceUnprocessed: config.LIMIT_DEVICE_UNPROCESSED,
    applicationUnprocessed: config.LIMIT_APPLICATION_UNPROCESSED,
  };
}
