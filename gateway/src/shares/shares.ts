import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { LRUCache } from 'lru-cache';
import type { Rate } from './bucket.ts';
import { refusals } from './refusals.ts';
import { Share, type Usage } from './share.ts';

/** Limits of one client of an application; an absent limit is not enforced. */
export interface ClientLimits {
  readonly callsPerSecond?: number;
  readonly callsBurst?: number;
  readonly callsUnderWay?: number;
  readonly deviceChangesPerSecond?: number;
}

/** Usage of a key, as gateways report it to each other. */
export interface UsageReport extends Usage {
  readonly key: string;
  readonly perSecond: number;
  readonly burst: number;
}

/** A lookup whether an application belongs to the client, while devices is called. */
export interface UnauthorizedCaller {
  /** Counts the lookup, because the application does not belong to the client. */
  refused(): void;
  /** Ends the lookup. */
  end(): void;
}

/** Counts the usage of clients (ADR 0040). Throws `too_many_requests` for a call over a limit. */
export interface Shares {
  /** Admits a call of a client to an application; the returned function ends it. */
  enter(clientId: string, applicationId: string, limits: ClientLimits): () => void;
  /** Admits the lookup whether an application belongs to the client. */
  unauthorizedCaller(clientId: string): UnauthorizedCaller;
  /** Admits a changing call for a device. */
  change(clientId: string, deviceId: string, limits: ClientLimits): void;
  /** Ends an interval of `reportEveryMs`. Returns the reports for the other gateways. */
  takeReports(): UsageReport[];
  hear(instanceId: string, shares: readonly UsageReport[]): void;
}

/** Interval at which gateways report to each other; milliseconds. */
export const reportEveryMs = 100;
/** How long a report about running calls is valid; milliseconds. */
const usageValidMs = 15 * reportEveryMs;
/** Maximum keys that are counted. When it is reached, the key idle longest is forgotten. */
const mostShares = 100_000;
/**
 * Lookups of a client for applications that do not belong to it. Each costs devices a call, and the client's share at
 * an application is known only afterwards. A misconfigured client does not reach this limit.
 */
const unauthorizedCallers = { perSecond: 50, burst: 200 };
/** Maximum concurrent lookups of this kind. */
const mostLookups = 200;
/** Burst of changing calls for a device, in seconds of its rate. */
const deviceBurstSeconds = 2;

export function createShares(options: {
  readonly clock: Clock;
  /** True if there may be other gateways, which get reports. */
  readonly together: boolean;
}): Shares {
  const { clock, together } = options;
  const nowMs = () => monotonicMs(clock);
  const shares = new LRUCache<string, Share>({ max: mostShares });
  /** Shares that may have to be reported, with the limit of their running calls. */
  const active = new Map<Share, number>();

  function shareOf(key: string, rate: Rate): Share {
    let share = shares.get(key);
    if (!share) {
      share = new Share(key, rate, clock);
      shares.set(key, share);
    } else {
      share.bucket.change(rate);
    }
    return share;
  }
  return {
    enter(clientId, applicationId, limits) {
      const { callsPerSecond, callsUnderWay } = limits;
      if (callsPerSecond === undefined || callsUnderWay === undefined) return () => {};
      const rate = { perSecond: callsPerSecond, burst: limits.callsBurst ?? callsPerSecond };
      const share = shareOf(`c ${clientId} ${applicationId}`, rate);
      share.ask();
      if (together) active.set(share, callsUnderWay);
      if (!share.mayStart(callsUnderWay, nowMs())) throw refusals.underWay(callsUnderWay);
      if (!share.take()) throw refusals.calls(callsPerSecond, share.bucket.waitMs);
      share.underWay += 1;
      return () => {
        share.underWay -= 1;
      };
    },
    unauthorizedCaller(clientId) {
      const share = shareOf(`r ${clientId}`, unauthorizedCallers);
      share.ask();
      if (together) active.set(share, mostLookups);
      if (!share.mayStart(mostLookups, nowMs()) || share.bucket.waitMs > 0) {
        throw refusals.unauthorizedCallers(
          unauthorizedCallers.perSecond,
          Math.max(share.bucket.waitMs, reportEveryMs),
        );
      }
      share.underWay += 1;
      return {
        refused: () => share.takeAfterwards(),
        end: () => {
          share.underWay -= 1;
        },
      };
    },
    change(clientId, deviceId, { deviceChangesPerSecond: perSecond }) {
      if (perSecond === undefined) return;
      const rate = { perSecond, burst: perSecond * deviceBurstSeconds };
      const share = shareOf(`d ${clientId} ${deviceId}`, rate);
      share.ask();
      if (together) active.set(share, Number.POSITIVE_INFINITY);
      if (!share.take()) throw refusals.deviceChanges(perSecond, share.bucket.waitMs);
    },
    takeReports() {
      const reports: UsageReport[] = [];
      for (const [share, mostUnderWay] of active) {
        const usage = share.report(mostUnderWay);
        if (usage) reports.push({ key: share.key, ...usage, ...share.bucket.rate });
        else if (share.isIdle) active.delete(share);
      }
      return reports;
    },
    hear(instanceId, reports) {
      const untilMs = nowMs() + usageValidMs;
      for (const { key, perSecond, burst, ...usage } of reports) {
        if (!(perSecond >= 1 && burst >= 1)) continue;
        // A contract's change reaches gateways at different times, so each gateway uses the limits that it knows.
        const share = shares.get(key) ?? shareOf(key, { perSecond, burst });
        share.addUsage(instanceId, usage, untilMs);
      }
    },
  };
}
