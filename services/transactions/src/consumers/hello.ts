import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { resetDoneMessage } from '../domain/callbacks.ts';
import { isGone } from '../domain/online.ts';
import { heldOf } from '../grpc/held.ts';
import type { ReportDeps } from './transaction-reports.ts';

/**
 * A headset is back: the reset that it was given in an earlier session and does not hold any more is
 * done (rule B7). Judged here and not when the session is announced, since the log brings the hello
 * after everything that the headset reported before it: a result that was on its way has ended
 * the reset by now.
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
