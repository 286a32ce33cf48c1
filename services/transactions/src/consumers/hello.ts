import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { resetDoneMessage } from '../domain/callbacks.ts';
import { isGone } from '../domain/online.ts';
import { heldOf } from '../grpc/held.ts';
import type { ReportDeps } from './dependencies.ts';

/**
 * Ends a reset when its headset is back: a reset that was sent in an earlier session and that the headset
 * no longer holds is done (rule B7). This happens here and not when the session is announced, because the
 * log orders the hello after everything that the headset reported before it: a result of the reset has been
 * consumed by now.
 */
export async function applyHello(
  { store, outbox, clock }: ReportDeps,
  event: DeviceReportEvent,
  hello: Hello,
): Promise<void> {
  const epoch = Number(event.sessionEpoch);
  const held = heldOf(hello.held);
  const end = { success: true, message: resetDoneMessage, atMs: Number(event.receivedAtMs) || clock.now() };
  for (const { id, sentEpoch } of await store.acceptedResets(event.deviceId)) {
    if (!isGone({ id, sentEpoch }, { epoch, held })) continue;
    const ended = await store.finishReset(id, epoch, end, clock.now());
    if (ended) outbox.publish(ended);
  }
}
