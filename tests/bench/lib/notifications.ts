import { create, toBinary } from '@bufbuild/protobuf';
import { type EventLog, type OutgoingEvent, topics } from '@headset-cloud/eventlog/types.ts';
import { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import type { RpcBinding } from '@headset-cloud/rpc/types.ts';
import { openLoop } from '../load/arrivals.ts';

/** Milliseconds since 1970 with a fraction, comparable between all processes of a machine. */
export const preciseNow = (): number => performance.timeOrigin + performance.now();

/** A callback's body, as long as a real one. */
export const callbackBody = (applicationId: string, sentAtMs: number): string =>
  JSON.stringify({
    applicationId,
    deviceId: '350000000000000',
    timestamp: Math.round(sentAtMs),
    transactionId: 1_000_000,
    operationId: 'put-v1-applications-devices-commands',
    notificationType: 'processed',
    result: 'success',
    message: 'called',
    sentAtMs,
  });

let lastId = 0;

function notification(applicationId: string): OutgoingEvent {
  lastId += 1;
  const id = `${process.pid}-${lastId}`;
  const value = create(NotificationEventSchema, {
    notificationId: id,
    applicationId,
    destination: Destination.DEVICE_EVENT,
    orderKey: id,
    sequence: 1,
    body: Buffer.from(callbackBody(applicationId, preciseNow())),
    createdAtMs: BigInt(Date.now()),
  });
  return { key: id, value: toBinary(NotificationEventSchema, value) };
}

/** The commands of a process that publishes notifications, to the applications in turn. */
export function publishCommands(log: () => EventLog) {
  return {
    publish: async (o: { applicationIds: readonly string[]; count: number }) => {
      const events = Array.from({ length: o.count }, (_, i) =>
        notification(o.applicationIds[i % o.applicationIds.length] as string),
      );
      await log().publish(topics.notifications, events);
    },
    publishOpen: async (o: { applicationIds: readonly string[]; perSecond: number; seconds: number }) => {
      await openLoop(o.perSecond, o.seconds, (i) =>
        log().publish(topics.notifications, [
          notification(o.applicationIds[i % o.applicationIds.length] as string),
        ]),
      );
    },
  };
}

/** Stands in for the devices service: a fixed address for each application, and one key for all. */
export function destinationsStandIn(urls: Readonly<Record<string, string>>): RpcBinding {
  return {
    service: ApplicationsService,
    handlers: {
      getDestination: async ({ applicationId }: { applicationId: string }) => ({
        url: urls[applicationId] ?? '',
        authenticationKey: 'bench-authentication-key',
      }),
    },
  };
}
