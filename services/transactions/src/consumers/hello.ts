import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { resetDoneMessage } from '../domain/callbacks.ts';
import { resetOperation } from '../domain/forms/operations.ts';
import { heldOf } from '../domain/held.ts';
import { isMissing } from '../domain/online.ts';
import type { ReportDeps } from './dependencies.ts';

/**
 * Handles accepted transactions of earlier sessions that the headset no longer holds. A reset is done (rule B7).
 * Other transactions are marked as lost, because the headset has lost its storage, and are offered again (ADR 0057).
 * This needs the hello from the log and not the call at the session's start: the log orders the hello after all
 * earlier reports, so an existing result has been consumed before.
 */
export async function applyHello(
  { store, outbox, dispatcher, clock }: ReportDeps,
  event: DeviceReportEvent,
  hello: Hello,
): Promise<void> {
  const epoch = Number(event.sessionEpoch);
  const session = { epoch, held: heldOf(hello.held) };
  const missing = (await store.acceptedOfDevice(event.deviceId)).filter((t) => isMissing(t, session));
  const resets = missing.filter((t) => t.operationId === resetOperation);
  const end = { success: true, message: resetDoneMessage, atMs: Number(event.receivedAtMs) || clock.now() };
  for (const { id } of resets) {
    const ended = await store.finishReset(id, epoch, end, clock.now());
    if (ended) outbox.publish(ended);
  }
  const lost = missing.filter((t) => t.operationId !== resetOperation);
  if (lost.length === 0) return;
  await store.markLost(
    lost.map(({ id }) => id),
    epoch,
  );
  dispatcher.reconcileAgain(event.deviceId, epoch);
}
