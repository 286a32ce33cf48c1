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

/** An admitted lookup of whether an application belongs to a client. It calls devices. */
export interface OwnershipLookup {
  /** Counts the lookup towards the client's limit: the application does not belong to the client. */
  rejected(): void;
  /** Ends the lookup. */
  end(): void;
}

/** Counts the usage of clients (ADR 0040). Throws `too_many_requests` for a call over a limit. */
export interface Shares {
  /** Admits a call of a client to an application; the returned function ends it. */
  enter(clientId: string, applicationId: string, limits: ClientLimits): () => void;
  /** Admits a lookup of whether an application belongs to the client. */
  admitLookup(clientId: string): OwnershipLookup;
  /** Admits a changing call for a device. */
  change(clientId: string, deviceId: string, limits: ClientLimits): void;
  /** Ends an interval of `reportEveryMs`. Returns the reports for the other gateways. */
  takeReports(): UsageReport[];
  /** Adds the usage that another gateway reports. */
  addReports(instanceId: string, reports: readonly UsageReport[]): void;
}

/** Interval at which gateways report to each other; milliseconds. */
export const reportEveryMs = 100;
/** How long a report about running calls is valid; milliseconds. */
const usageValidMs = 15 * reportEveryMs;
/** Maximum number of keys that are counted. At the maximum, the key idle longest is forgotten. */
const maxKeys = 100_000;
/**
 * Limit of a client's lookups of applications that do not belong to it. Each lookup is a call to devices. The limits of
 * the client's contract do not apply yet, because only the lookup returns them. A client with a wrong configuration
 * does not reach this limit.
 */
const lookupRate = { perSecond: 50, burst: 200 };
/** Maximum number of concurrent lookups of one client. */
const maxLookups = 200;
/** Burst of changing calls for a device, in seconds of its rate. */
const deviceBurstSeconds = 2;

export function createShares(options: {
  readonly clock: Clock;
  /** True if there may be other gateways, to which usage is reported. */
  readonly hasPeers: boolean;
}): Shares {
  const { clock, hasPeers } = options;
  const nowMs = () => monotonicMs(clock);
  const shares = new LRUCache<string, Share>({ max: maxKeys });
  /** Shares that may have usage to report, each with the limit of its running calls. */
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
      share.countArrival();
      if (hasPeers) active.set(share, callsUnderWay);
      if (!share.mayStart(callsUnderWay, nowMs())) throw refusals.underWay(callsUnderWay);
      if (!share.take()) throw refusals.calls(callsPerSecond, share.bucket.waitMs);
      share.underWay += 1;
      return () => {
        share.underWay -= 1;
      };
    },
    admitLookup(clientId) {
      const share = shareOf(`r ${clientId}`, lookupRate);
      share.countArrival();
      if (hasPeers) active.set(share, maxLookups);
      if (!share.mayStart(maxLookups, nowMs()) || share.bucket.waitMs > 0) {
        throw refusals.lookups(lookupRate.perSecond, Math.max(share.bucket.waitMs, reportEveryMs));
      }
      share.underWay += 1;
      return {
        rejected: () => share.takeAfterwards(),
        end: () => {
          share.underWay -= 1;
        },
      };
    },
    change(clientId, deviceId, { deviceChangesPerSecond: perSecond }) {
      if (perSecond === undefined) return;
      const rate = { perSecond, burst: perSecond * deviceBurstSeconds };
      const share = shareOf(`d ${clientId} ${deviceId}`, rate);
      share.countArrival();
      if (hasPeers) active.set(share, Number.POSITIVE_INFINITY);
      if (!share.take()) throw refusals.deviceChanges(perSecond, share.bucket.waitMs);
    },
    takeReports() {
      const reports: UsageReport[] = [];
      for (const [share, limitUnderWay] of active) {
        const usage = share.report(limitUnderWay);
        if (usage) reports.push({ key: share.key, ...usage, ...share.bucket.rate });
        else if (share.isIdle) active.delete(share);
      }
      return reports;
    },
    addReports(instanceId, reports) {
      const untilMs = nowMs() + usageValidMs;
      for (const { key, perSecond, burst, ...usage } of reports) {
        if (!(perSecond >= 1 && burst >= 1)) continue;
        // Gateways learn of a changed contract at different times, so each gateway keeps the limits that it knows.
        const share = shares.get(key) ?? shareOf(key, { perSecond, burst });
        share.addUsage(instanceId, usage, untilMs);
      }
    },
  };
}
