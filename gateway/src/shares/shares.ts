import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import { LRUCache } from 'lru-cache';
import type { Rate } from './bucket.ts';
import { refusals } from './refusals.ts';
import { type Heard, Share } from './share.ts';

/** What one client of an application may take; absent: no limit. */
export interface ClientLimits {
  readonly callsPerSecond?: number;
  readonly callsBurst?: number;
  readonly callsUnderWay?: number;
  readonly deviceChangesPerSecond?: number;
}

/** A share as gateways tell each other. */
export interface ToldShare extends Heard {
  readonly key: string;
  readonly perSecond: number;
  readonly burst: number;
}

/** An application of which it is not known whether it is the client's, while devices is asked. */
export interface UnauthorizedCaller {
  /** It is not: this counts. */
  refused(): void;
  /** There is an answer. */
  end(): void;
}

/** Counts what clients take (ADR 0040). Throws `too_many_requests` for a call beyond a limit. */
export interface Shares {
  /** Admits a call of a client to an application; the returned function ends it. */
  enter(clientId: string, applicationId: string, limits: ClientLimits): () => void;
  /** Admits the question whether an application is the client's. */
  unauthorizedCaller(clientId: string): UnauthorizedCaller;
  /** Admits a changing call for a device. */
  change(clientId: string, deviceId: string, limits: ClientLimits): void;
  /** Ends an interval of `tellEveryMs`: what the other gateways have to know. */
  tell(): ToldShare[];
  hear(instanceId: string, shares: readonly ToldShare[]): void;
}

/** Interval at which gateways tell each other; milliseconds. */
export const tellEveryMs = 100;
/** How long what another gateway told of calls under way holds; milliseconds. */
const heardHoldsMs = 15 * tellEveryMs;
/** Keys that are counted at the same time; the one that was idle longest is forgotten. */
const mostShares = 100_000;
/**
 * Questions of a client for applications that turn out not to be its own: each costs devices a call, and the
 * client's share at an application is known only afterwards. One that is set up wrongly does not come near it.
 */
const unauthorizedCallers = { perSecond: 50, burst: 200 };
/** Such questions at the same time. */
const mostStrangers = 200;
/** Changing calls for a device that may come at once, in seconds of its rate. */
const deviceBurstSeconds = 2;

export function createShares(options: {
  readonly clock: Clock;
  /** There may be other gateways, which are told. */
  readonly together: boolean;
}): Shares {
  const { clock, together } = options;
  const nowMs = () => monotonicMs(clock);
  const shares = new LRUCache<string, Share>({ max: mostShares });
  /** Shares of which the others may have to be told, with the limit of their calls under way. */
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
      if (!share.hasRoom(callsUnderWay, nowMs())) throw refusals.underWay(callsUnderWay);
      if (!share.take()) throw refusals.calls(callsPerSecond, share.bucket.waitMs);
      share.underWay += 1;
      return () => {
        share.underWay -= 1;
      };
    },
    unauthorizedCaller(clientId) {
      const share = shareOf(`r ${clientId}`, unauthorizedCallers);
      share.ask();
      if (together) active.set(share, mostStrangers);
      if (!share.hasRoom(mostStrangers, nowMs()) || share.bucket.waitMs > 0) {
        throw refusals.unauthorizedCallers(
          unauthorizedCallers.perSecond,
          Math.max(share.bucket.waitMs, tellEveryMs),
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
    tell() {
      const told: ToldShare[] = [];
      for (const [share, mostUnderWay] of active) {
        const heard = share.tell(mostUnderWay);
        if (heard) told.push({ key: share.key, ...heard, ...share.bucket.rate });
        else if (share.isIdle) active.delete(share);
      }
      return told;
    },
    hear(instanceId, told) {
      const untilMs = nowMs() + heardHoldsMs;
      for (const { key, perSecond, burst, ...heard } of told) {
        if (!(perSecond >= 1 && burst >= 1)) continue;
        // A contract's change reaches gateways at different times: each goes by what it knows itself.
        const share = shares.get(key) ?? shareOf(key, { perSecond, burst });
        share.hear(instanceId, heard, untilMs);
      }
    },
  };
}
