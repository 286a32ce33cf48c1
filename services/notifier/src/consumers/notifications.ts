import type { Clock } from '@headset-cloud/kit/clock.ts';
import { decodeEvent } from '@headset-cloud/kit/eventlog/decode.ts';
import { type Batch, type LogEvent, PoisonEventError } from '@headset-cloud/kit/eventlog/types.ts';
import {
  Destination,
  type NotificationEvent,
  NotificationEventSchema,
} from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { type Delivery, type DestinationSetting, laneOf } from '../domain/delivery.ts';
import { Neighbours } from '../domain/neighbours.ts';
import type { LogPositions } from '../feed/log-positions.ts';
import type { DeliveryStore, ForgottenApplications } from '../ports.ts';
import type { Plan, Scheduler } from '../scheduling/scheduler.ts';
import type { Unrecorded } from '../scheduling/unrecorded.ts';

const settings: Readonly<Partial<Record<Destination, DestinationSetting>>> = {
  [Destination.DEVICE_EVENT]: 'deviceEvent',
  [Destination.SORA_EVENT]: 'soraEvent',
  [Destination.SORA_FILE_SEND_EVENT]: 'soraFileSendEvent',
  [Destination.FILE_UPLOAD_EVENT]: 'fileUploadEvent',
};

/**
 * Makes deliveries of notifications and hands them on: most once they are stored, in one write; those that can go
 * at once when their events are durable and known to be new (ADR 0050). Nothing is sent in here. An event that
 * comes again finds its id and is dropped, and so are events of an application that is forgotten, and a progress that
 * comes behind something later of its transaction.
 */
export function createNotificationsHandler(options: {
  store: DeliveryStore;
  forgottenApplications: Pick<ForgottenApplications, 'read'>;
  scheduler: Pick<Scheduler, 'plan' | 'accept'>;
  unrecorded: Unrecorded;
  clock: Clock;
  positions: Pick<LogPositions, 'of'>;
}): (events: readonly LogEvent[], batch: Batch) => Promise<void> {
  const { store, forgottenApplications, scheduler, unrecorded, clock, positions } = options;
  const neighbours = new Neighbours();
  const stored = async (deliveries: readonly Delivery[]) => {
    if (deliveries.length === 0) return [];
    await unrecorded.recordOrders(
      deliveries.flatMap(({ order, orderKey }) => (order === 'none' ? [] : orderKey)),
    );
    // A progress behind a later callback of its transaction is never sent (rule B10).
    const late = await store.lateOf(deliveries.filter(({ replaceable }) => replaceable));
    const kept = deliveries.filter(({ id }) => !late.has(id));
    const known = await store.insert(kept);
    return kept.filter(({ id }) => !known.has(id));
  };

  /** Those that no instance has stored, once their events are durable. */
  const unstored = async (deliveries: readonly Delivery[], batch: Batch) => {
    if (deliveries.length === 0) return [];
    const [known] = await Promise.all([store.known(deliveries.map(({ id }) => id)), batch.durable()]);
    return deliveries.filter(({ id }) => !known.has(id));
  };

  const handOn = async ({ toSend, toStore, done }: Plan, batch: Batch) => {
    try {
      const fresh = await unstored(toSend, batch);
      if (fresh.length > 0) {
        unrecorded.take(fresh, batch);
        batch.settlesWith(unrecorded.settling(fresh.map(({ id }) => id)));
        scheduler.accept(fresh);
      }
      // Behind those of the same batch: others may claim these, and find what is before them in the database only.
      scheduler.accept(await stored(toStore));
    } finally {
      done();
    }
  };

  return async (events, batch) => {
    const nowMs = clock.now();
    const forgotten = await forgottenApplications.read();
    const positionOf = await positions.of(events);
    const latest = new Map<string, number>();
    const unique = new Map<string, Delivery>();
    const again = new Set<string>();
    for (const event of events) {
      const delivery = toDelivery(event, nowMs);
      const after = neighbours.before(event.position, delivery);
      if (forgotten.has(delivery.applicationId)) continue;
      if (unrecorded.has(delivery.id)) again.add(delivery.id);
      else if (!isBehind(delivery, latest) && !unique.has(delivery.id)) {
        unique.set(delivery.id, { ...delivery, after, position: positionOf(event) });
      }
    }
    // The first of two such events was of an earlier batch, whose position another one may not pass alone.
    if (again.size > 0) batch.settlesWith(unrecorded.settling([...again]));
    await handOn(scheduler.plan([...unique.values()], batch.held()), batch);
  };
}

/** True for a progress behind something later of its transaction in one batch. `latest`: sequences by order key. */
function isBehind({ replaceable, orderKey, sequence }: Delivery, latest: Map<string, number>): boolean {
  const before = latest.get(orderKey) ?? sequence;
  latest.set(orderKey, Math.max(before, sequence));
  return replaceable && sequence < before;
}

function toDelivery(event: LogEvent, nowMs: number): Delivery {
  const notification = decodeEvent(NotificationEventSchema, event);
  const { notificationId, applicationId, body } = notification;
  const destination = settings[notification.destination];
  if (notificationId === '' || applicationId === '' || !destination) {
    throw new PoisonEventError(event, 'a notification without id, application or known destination');
  }
  // A publisher whose clock runs ahead gives it no more time.
  const createdAtMs = Math.min(Number(notification.createdAtMs) || event.timestampMs || nowMs, nowMs);
  return {
    id: notificationId,
    applicationId,
    destination,
    ...placeOf(notification, destination),
    after: null,
    replaceable: notification.replaceable,
    // A copy: a view would keep the whole fetched batch in memory for as long as one waits.
    body: Buffer.from(body),
    status: 'pending',
    attempts: 0,
    createdAtMs,
    budgetFromMs: createdAtMs,
    // At once, by every clock: this process's own may be ahead.
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

/** Notifications of one report at most; further ones have no order among themselves. */
const partsOfReport = 16;

/** Where it stands among others. What a headset reported is in the order of one destination only. */
function placeOf(
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
