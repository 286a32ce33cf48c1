import { lookup } from 'node:dns/promises';
import { systemTime, type Time, type Timer } from '@headset-cloud/kit/clock.ts';
import type { Component } from '@headset-cloud/kit/lifecycle.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import {
  bind,
  type Channel,
  type Client,
  createClient,
  type RpcBinding,
} from '@headset-cloud/kit/rpc/types.ts';
import { SharesService } from '@headset-cloud/proto/gateway/v1/shares_pb.ts';
import { type Shares, type ToldShare, tellEveryMs } from './shares.ts';

/** How often the names are resolved again; milliseconds. */
const resolveEveryMs = 5000;
/** A gateway that does not take what it is told within this time is told the next; milliseconds. */
const deadlineMs = 1000;
/** Shares that wait for one gateway; more are not told. */
const mostWaiting = 20_000;

/** The other gateways' ears: what they tell is counted here, too. */
export function sharesBinding(shares: Shares, instanceId: string): RpcBinding {
  return bind(SharesService, {
    async tellShares({ instanceId: from, shares: told }) {
      if (from !== instanceId) shares.hear(from, told);
      return { instanceId };
    },
  });
}

interface Peer {
  readonly channel: Channel;
  readonly client: Client<typeof SharesService>;
  /** What it has not been told yet, by key. */
  waiting: Map<string, ToldShare>;
  telling: boolean;
  /** Undefined: not known yet. */
  reached: boolean | undefined;
  isSelf: boolean;
}

/**
 * Tells the other gateways what clients took from this one. The gateways are all addresses of the names in
 * `names` (host:port); this one's own address is found by its answer.
 */
export function createPeers(options: {
  readonly names: readonly string[];
  readonly instanceId: string;
  readonly shares: Shares;
  readonly open: (address: string) => Channel;
  readonly logger: Logger;
  readonly time?: Time;
}): Component {
  const { names, instanceId, shares, open, logger, time = systemTime } = options;
  const peers = new Map<string, Peer>();
  let ticks: Timer | undefined;
  let resolves: Timer | undefined;

  async function addressesOf(name: string): Promise<string[]> {
    const at = name.lastIndexOf(':');
    const port = name.slice(at + 1);
    const found = await lookup(name.slice(0, at), { all: true });
    return found.map(({ address, family }) => (family === 6 ? `[${address}]:${port}` : `${address}:${port}`));
  }

  async function resolve(): Promise<void> {
    try {
      const current = new Set((await Promise.all(names.map(addressesOf))).flat());
      for (const address of current) {
        if (peers.has(address)) continue;
        const channel = open(address);
        const client = createClient(SharesService, channel, { deadlineMs });
        peers.set(address, {
          ...{ channel, client, waiting: new Map(), telling: false, reached: undefined, isSelf: false },
        });
      }
      for (const [address, peer] of peers) {
        if (current.has(address)) continue;
        peers.delete(address);
        await peer.channel.close();
      }
    } catch (error) {
      logger.warn({ err: error, names }, 'the other gateways cannot be found; those that are known are told');
    }
  }

  async function tell(address: string, peer: Peer): Promise<void> {
    const told = [...peer.waiting.values()];
    peer.waiting = new Map();
    peer.telling = true;
    try {
      const answer = await peer.client.tellShares({ instanceId, shares: told });
      peer.isSelf = answer.instanceId === instanceId;
      if (peer.reached === false) logger.info({ address }, 'another gateway is told again what clients take');
      peer.reached = true;
    } catch (error) {
      // Told late it would be taken from calls of another time.
      if (peer.reached !== false)
        logger.warn({ address, err: error }, 'another gateway does not learn what clients take');
      peer.reached = false;
    } finally {
      peer.telling = false;
    }
  }

  function tick(): void {
    const told = shares.tell();
    for (const [address, peer] of peers) {
      if (peer.isSelf) continue;
      for (const share of told) {
        const before = peer.waiting.get(share.key);
        if (!before && peer.waiting.size >= mostWaiting) continue;
        peer.waiting.set(share.key, { ...share, taken: share.taken + (before?.taken ?? 0) });
      }
      if (peer.waiting.size > 0 && !peer.telling) void tell(address, peer);
    }
  }

  return {
    name: 'gateways',
    async start() {
      await resolve();
      resolves = time.setInterval(() => void resolve(), resolveEveryMs);
      ticks = time.setInterval(tick, tellEveryMs);
    },
    async stop() {
      time.clearTimer(ticks);
      time.clearTimer(resolves);
      await Promise.all([...peers.values()].map(({ channel }) => channel.close()));
      peers.clear();
    },
  };
}
