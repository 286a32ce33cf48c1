import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { ChannelStore } from '../ports/channel-store.ts';
import type { ConnectionStore } from '../ports/connection-store.ts';
import { videoUsage } from './messages.ts';

/** Maximum connections that one run bills. */
const atOnce = 50;
/** Time after which another run bills a connection that a killed process had claimed; milliseconds. */
const claimMs = 60_000;

/**
 * Bills connections without a 'destroyed' event: up to their last event, after COMMUNICATION_CONNECTION_SILENT_MS
 * without an event. A later 'destroyed' event bills the rest. Returns the number of billed connections.
 */
export async function billSilent(deps: {
  readonly connections: ConnectionStore;
  readonly channels: ChannelStore;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onBilled: () => void;
}): Promise<number> {
  const { connections, channels, log, clock, logger } = deps;
  const nowMs = clock.now();
  const parts = await connections.claimSilent(nowMs, nowMs + claimMs, atOnce);
  for (const part of parts) {
    const { connectionId, channelId, deviceId, fromMs, toMs, isFirst } = part;
    const channel = await channels.get(channelId);
    // The channel of a forgotten application has no application id.
    if (channel?.applicationId) {
      const { applicationId } = channel;
      const time = { startedAtMs: fromMs, durationMs: toMs - fromMs };
      const usage = videoUsage({ connectionId, applicationId, deviceId, isFirst, traceparent: '', ...time });
      await log.publish(topics.usage, [usage]);
    }
    await connections.billed(part);
    if (!channel?.applicationId) continue;
    deps.onBilled();
    logger.warn(
      { channelId, connectionId, until: new Date(toMs).toISOString() },
      'a connection without a destroyed event is billed until its last event',
    );
  }
  return parts.length;
}
