import { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import { type Channel, type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';

/** Deadline of calls between instances: shorter than the deadline of the calls that they forward; milliseconds. */
const peerDeadlineMs = 2500;
const closeUnusedAfterMs = 300_000;

/** The other instances' DeliveryService, by address; connections are kept while they are used. */
export class Peers {
  readonly #peers = new Map<
    string,
    { channel: Channel; client: Client<typeof DeliveryService>; usedAtMs: number }
  >();
  readonly #open: (address: string) => Channel;
  readonly #clock: Clock;

  /** `open` returns a channel to the instance at host:port. */
  constructor(open: (address: string) => Channel, clock: Clock) {
    this.#open = open;
    this.#clock = clock;
  }

  at(address: string): Client<typeof DeliveryService> {
    let peer = this.#peers.get(address);
    if (!peer) {
      const channel = this.#open(address);
      const client = createClient(DeliveryService, channel, { deadlineMs: peerDeadlineMs });
      peer = { channel, client, usedAtMs: 0 };
      this.#peers.set(address, peer);
    }
    peer.usedAtMs = monotonicMs(this.#clock);
    return peer.client;
  }

  /** Closes connections that have been unused for 5 minutes. */
  async prune(): Promise<void> {
    for (const [address, { channel, usedAtMs }] of this.#peers) {
      if (usedAtMs > monotonicMs(this.#clock) - closeUnusedAfterMs) continue;
      this.#peers.delete(address);
      await channel.close();
    }
  }

  async close(): Promise<void> {
    for (const { channel } of this.#peers.values()) await channel.close();
    this.#peers.clear();
  }
}
