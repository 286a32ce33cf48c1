import { decodeEvent } from '@headset-cloud/eventlog/decode.ts';
import { type Batch, type LogEvent, PoisonEventError } from '@headset-cloud/eventlog/types.ts';
import {
  Destination,
  type NotificationEvent,
  NotificationEventSchema,
} from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { type Delivery, type DestinationSetting, laneOf } from '../domain/delivery.ts';
import { PreviousSequences } from '../domain/previous-sequences.ts';
import type { LogPositions } from '../feed/log-positions.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { ForgottenApplications } from '../ports/forgotten-applications.ts';
import type { DeliveryRecords } from '../scheduling/delivery-records.ts';
import type { Plan, Scheduler } from '../scheduling/scheduler.ts';

const settings: Readonly<Partial<Record<Destination, DestinationSetting>>> = {
  [Destination.DEVICE_EVENT]: 'deviceEvent',
  [Destination.SORA_EVENT]: 'soraEvent',
  [Destination.SORA_FILE_SEND_EVENT]: 'soraFileSendEvent',
  [Destination.FILE_UPLOAD_EVENT]: 'fileUploadEvent',
};

/**
 * Makes deliveries of notifications and passes them to the scheduler. Most are stored first, all of a batch in one
 * write. Deliveries that can be sent at once are passed before they are stored, as soon as their events are durable and
 * known to be new (ADR 0050). The handler itself sends nothing. Dropped are: repeated events, events of a forgotten
 * application, and a progress after a later callback of its transaction.
 */
export function createNotificationsHandler(options: {
  store: DeliveryStore;
  forgottenApplications: Pick<ForgottenApplications, 'read'>;
  scheduler: Pick<Scheduler, 'plan' | 'accept'>;
  records: DeliveryRecords;
  clock: Clock;
  positions: Pick<LogPositions, 'of'>;
}): (events: readonly LogEvent[], batch: Batch) => Promise<void> {
  const { store, forgottenApplications, scheduler, records, clock, positions } = options;
  const previousSequences = new PreviousSequences();
  const stored = async (deliveries: readonly Delivery[]) => {
    if (deliveries.length === 0) return [];
    await records.recordOrders(
      deliveries.flatMap(({ order, orderKey }) => (order === 'none' ? [] : orderKey)),
    );
    // A progress after a later callback of its transaction is never sent (rule B10).
    const late = await store.lateOf(deliveries.filter(({ replaceable }) => replaceable));
    const kept = deliveries.filter(({ id }) => !late.has(id));
    const known = await store.insert(kept);
    return kept.filter(({ id }) => !known.has(id));
  };

  /** Returns the deliveries that no instance has stored, once their events are durable. */
  const unstored = async (deliveries: readonly Delivery[], batch: Batch) => {
    if (deliveries.length === 0) return [];
    const [known] = await Promise.all([store.known(deliveries.map(({ id }) => id)), batch.durable()]);
    return deliveries.filter(({ id }) => !known.has(id));
  };

  const dispatchPlan = async ({ toSend, toStore, done }: Plan, batch: Batch) => {
    try {
      const fresh = await unstored(toSend, batch);
      if (fresh.length > 0) {
        records.take(fresh, batch);
        batch.settlesWith(records.settling(fresh.map(({ id }) => id)));
        scheduler.accept(fresh);
      }
      // Comes last: other instances may claim deliveries as soon as they are stored, and must find earlier deliveries
      // of the same order key in the database. `stored` therefore first records those that were accepted above.
      scheduler.accept(await stored(toStore));
    } finally {
      done();
    }
  };

  return async (events, batch) => {
    const nowMs = clock.now();
    const forgotten = await forgottenApplications.read();
    const positionOf = await positions.of(events);
    const highestSequences = new Map<string, number>();
    const unique = new Map<string, Delivery>();
    const repeated = new Set<string>();
    for (const event of events) {
      const delivery = toDelivery(event, nowMs);
      const after = previousSequences.before(event.position, delivery);
      if (forgotten.has(delivery.applicationId)) continue;
      if (records.lacks(delivery.id)) repeated.add(delivery.id);
      else if (!isBehind(delivery, highestSequences) && !unique.has(delivery.id)) {
        unique.set(delivery.id, { ...delivery, after, position: positionOf(event) });
      }
    }
    // The delivery of a repeated event is not recorded yet. The offset of this batch must not be committed before the
    // delivery is recorded.
    if (repeated.size > 0) batch.settlesWith(records.settling([...repeated]));
    await dispatchPlan(scheduler.plan([...unique.values()], batch.held()), batch);
  };
}

/**
 * True for a progress after a later event of its transaction in the same batch. `highestSequences`: by order key, of
 * the events so far; updated here.
 */
function isBehind(
  { replaceable, orderKey, sequence }: Delivery,
  highestSequences: Map<string, number>,
): boolean {
  const highest = highestSequences.get(orderKey) ?? sequence;
  highestSequences.set(orderKey, Math.max(highest, sequence));
  return replaceable && sequence < highest;
}

function toDelivery(event: LogEvent, nowMs: number): Delivery {
  const notification = decodeEvent(NotificationEventSchema, event);
  const { notificationId, applicationId, body } = notification;
  const destination = settings[notification.destination];
  if (notificationId === '' || applicationId === '' || !destination) {
    throw new PoisonEventError(event, 'a notification without id, application or known destination');
  }
  // A publisher with a fast clock must not extend the time limit.
  const createdAtMs = Math.min(Number(notification.createdAtMs) || event.timestampMs || nowMs, nowMs);
  return {
    id: notificationId,
    applicationId,
    destination,
    ...orderOf(notification, destination),
    after: null,
    replaceable: notification.replaceable,
    // A copy, because a view would keep the whole fetched batch in memory.
    body: Buffer.from(body),
    status: 'pending',
    attempts: 0,
    createdAtMs,
    budgetFromMs: createdAtMs,
    // Due at once by every clock, because this process's clock may be fast.
    nextAttemptAtMs: Math.min(createdAtMs, event.timestampMs || nowMs),
    dueAtMs: Math.min(createdAtMs, event.timestampMs || nowMs),
    owner: null,
    takenOver: false,
    deliveredAtMs: 0,
    lastOutcome: '',
    recentAttempts: [],
    traceparent: notification.traceparent,
  };
}

/** Maximum ordered notifications of one report; further notifications have no order among themselves. */
const partsOfReport = 16;

/** Order of the delivery. Reports of headsets are ordered per destination. */
function orderOf(
  { applicationId, orderKey, sequence, reportId }: NotificationEvent,
  destination: DestinationSetting,
): Pick<Delivery, 'order' | 'orderKey' | 'sequence'> {
  if (orderKey === '') return { order: 'none', orderKey, sequence };
  if (reportId === 0n) return { order: 'ended', orderKey, sequence };
  return {
    order: 'tried',
    orderKey: `${orderKey}/${laneOf(applicationId, destination)}`,
    sequence: Number(reportId) * partsOfReport + Math.min(sequence, partsOfReport - 1),
  };
}
