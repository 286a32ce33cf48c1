import { lookup } from 'node:dns/promises';
import { SharesService } from '@headset-cloud/proto/gateway/v1/shares_pb.ts';
import { bind, type Channel, type Client, createClient, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { reportEveryMs, type Shares, type UsageReport } from './shares.ts';

/** Interval at which the names of the gateways are resolved again; milliseconds. */
const resolveEveryMs = 5000;
/** Deadline of a report to a gateway; milliseconds. The next report is sent after the answer or the deadline. */
const deadlineMs = 1000;
/** Maximum number of keys that wait for their report to one gateway; further keys are not reported. */
const maxWaitingKeys = 20_000;

/** Receives the reports of other gateways and counts their usage here, too. */
export function sharesBinding(shares: Shares, instanceId: string): RpcBinding {
  return bind(SharesService, {
    async tellShares({ instanceId: from, shares: reports }) {
      if (from !== instanceId) shares.addReports(from, reports);
      return { instanceId };
    },
  });
}

interface Peer {
  readonly channel: Channel;
  readonly client: Client<typeof SharesService>;
  /** Usage that is not reported to this gateway yet, by key. */
  waiting: Map<string, UsageReport>;
  sending: boolean;
  /** Whether the last report arrived; undefined before the first report. */
  reached: boolean | undefined;
  /** True if this address belongs to the reporting gateway itself. */
  isSelf: boolean;
}

/**
 * Reports the usage of clients at this gateway to the other gateways. The gateways are all addresses of the names in
 * `names` (host:port). The answer to a report contains the receiver's id, by which a gateway detects its own address.
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
    // The brackets of an IPv6 address belong to the URL, not to the address.
    const found = await lookup(name.slice(0, at).replace(/^\[(.*)\]$/, '$1'), { all: true });
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
          ...{ channel, client, waiting: new Map(), sending: false, reached: undefined, isSelf: false },
        });
      }
      for (const [address, peer] of peers) {
        if (current.has(address)) continue;
        peers.delete(address);
        await peer.channel.close();
      }
    } catch (error) {
      logger.warn({ err: error, names }, 'other gateways cannot be resolved, reporting to the known ones');
    }
  }

  async function send(address: string, peer: Peer): Promise<void> {
    const reports = [...peer.waiting.values()];
    peer.waiting = new Map();
    peer.sending = true;
    try {
      const answer = await peer.client.tellShares({ instanceId, shares: reports });
      peer.isSelf = answer.instanceId === instanceId;
      if (peer.reached === false) logger.info({ address }, 'usage reports reach another gateway again');
      peer.reached = true;
    } catch (error) {
      // A failed report is not sent again, because its calls would count at a later time than they were made.
      if (peer.reached !== false)
        logger.warn({ address, err: error }, 'another gateway does not get usage reports');
      peer.reached = false;
    } finally {
      peer.sending = false;
    }
  }

  function tick(): void {
    const reports = shares.takeReports();
    for (const [address, peer] of peers) {
      if (peer.isSelf) continue;
      for (const share of reports) {
        const before = peer.waiting.get(share.key);
        if (!before && peer.waiting.size >= maxWaitingKeys) continue;
        peer.waiting.set(share.key, { ...share, taken: share.taken + (before?.taken ?? 0) });
      }
      if (peer.waiting.size > 0 && !peer.sending) void send(address, peer);
    }
  }

  return {
    name: 'gateways',
    async start() {
      await resolve();
      resolves = time.setInterval(() => void resolve(), resolveEveryMs);
      ticks = time.setInterval(tick, reportEveryMs);
    },
    async stop() {
      time.clearTimer(ticks);
      time.clearTimer(resolves);
      await Promise.all([...peers.values()].map(({ channel }) => channel.close()));
      peers.clear();
    },
  };
}
