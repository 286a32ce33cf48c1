export interface Channel {
  readonly channelId: string;
  readonly applicationId: string;
  readonly endpointId: string;
  readonly endpointUrl: string;
}

export interface ChannelStore {
  get(channelId: string): Promise<Channel | undefined>;
  /** Inserts channels. Returns the ids that existed already. */
  insert(channels: readonly Channel[], nowMs: number): Promise<ReadonlySet<string>>;
  /**
   * The next sequence number in the channel's order, the channel's application, and its creation time. Undefined if the
   * endpoint has no such channel.
   */
  nextEvent(
    channelId: string,
    endpointId: string,
    nowMs: number,
  ): Promise<{ seq: number; applicationId: string; createdAtMs: number } | undefined>;
}
