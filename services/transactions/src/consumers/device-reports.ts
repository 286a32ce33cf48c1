import { fromBinary } from '@bufbuild/protobuf';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import { type LogEvent, PoisonEventError } from '@headset-cloud/kit/eventlog/types.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import { inSpan, SpanKind } from '@headset-cloud/kit/telemetry.ts';
import {
  type DeviceReportEvent,
  DeviceReportEventSchema,
} from '@headset-cloud/proto/headset/device_link/v1/events_pb.ts';
import type { Outbox } from '../outbox.ts';
import type { TransactionStore } from '../ports.ts';

/**
 * Results and apps' answers from headsets end transactions. Idempotent: each change is conditional
 * on the transaction's state, so an event may come twice, late or out of order.
 */
export function createReportConsumer(deps: {
  store: TransactionStore;
  outbox: Outbox;
  clock: Clock;
  failpoints: Failpoints;
}): (events: readonly LogEvent[]) => Promise<void> {
  const { store, outbox, clock, failpoints } = deps;

  const apply = async (event: DeviceReportEvent): Promise<void> => {
    const body = event.body.case === 'report' ? event.body.value.body : undefined;
    if (body?.case === 'result') {
      const id = Number(body.value.transactionId);
      const end = { success: body.value.success, message: body.value.message };
      const ended = await store.finish(id, event.deviceId, end, clock.now());
      failpoints('transactions.finished');
      if (ended) outbox.publish(ended);
      else await store.recordLate(id, event.deviceId, end, clock.now());
    } else if (body?.case === 'appAnswer') {
      const { transactionId, success, message, customData } = body.value;
      const id = Number(transactionId);
      const answered = await store.answer(id, event.deviceId, { success, message, customData }, clock.now());
      if (answered) outbox.publish(answered);
      else await store.recordLate(id, event.deviceId, { success, message }, clock.now());
    }
  };

  return async (events) => {
    // Different devices at once, one device's events in their order.
    const chains = new Map<string, Promise<void>>();
    for (const event of events) {
      const decoded = decode(event);
      if (decoded.body.case !== 'report') continue;
      const kind = decoded.body.value.body.case;
      if (kind !== 'result' && kind !== 'appAnswer') continue;
      chains.set(
        event.key,
        (chains.get(event.key) ?? Promise.resolve()).then(() => traced(event, () => apply(decoded))),
      );
    }
    const outcomes = await Promise.allSettled(chains.values());
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };
}

/** In the trace of the call that made the transaction, where the event says which it is. */
function traced(event: LogEvent, work: () => Promise<void>): Promise<void> {
  const parent = event.headers['traceparent'];
  return parent ? inSpan('device-reports process', { kind: SpanKind.CONSUMER, parent }, work) : work();
}

function decode(event: LogEvent): DeviceReportEvent {
  try {
    return fromBinary(DeviceReportEventSchema, event.value);
  } catch (error) {
    throw new PoisonEventError(event, 'not a DeviceReportEvent', { cause: error });
  }
}
