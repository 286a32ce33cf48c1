import type { Hello } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceReportEvent } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { resetDoneMessage } from '../domain/callbacks.ts';
import { resetOperation } from '../domain/forms/operations.ts';
import { heldOf } from '../domain/held.ts';
import { isGone } from '../domain/online.ts';
import type { ReportDeps } from './dependencies.ts';

/**
 * What a hello says of transactions that were sent in an earlier session and that the headset no longer
 * holds: a reset is done (rule B7); of the others the results are lost, with all that the headset stored, so
 * they are offered again (ADR 0057). This happens here and not when the session is announced, because the log
 * orders the hello after everything that the headset reported before it: a result has been consumed by now.
 */
export async function applyHello(
  { store, outbox, delivery, clock }: ReportDeps,
  event: DeviceReportEvent,
  hello: Hello,
): Promise<void> {
  const epoch = Number(event.sessionEpoch);
  const session = { epoch, held: heldOf(hello.held) };
  const gone = (await store.acceptedOfDevice(event.deviceId)).filter((t) => isGone(t, session));
  const resets = gone.filter((t) => t.operationId === resetOperation);
  const end = { success: true, message: resetDoneMessage, atMs: Number(event.receivedAtMs) || clock.now() };
  for (const { id } of resets) {
    const ended = await store.finishReset(id, epoch, end, clock.now());
    if (ended) outbox.publish(ended);
  }
  const lost = gone.filter((t) => t.operationId !== resetOperation);
  if (lost.length === 0) return;
  await store.markLost(
    lost.map(({ id }) => id),
    epoch,
  );
  delivery.judgeAgain(event.deviceId, epoch);
}
