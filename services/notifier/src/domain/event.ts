import { callbackNameOf, callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import type { Delivery } from './delivery.ts';
import type { FeedFilter } from './feed-cursor.ts';

/** Fields that integrators filter by: type of a callback, and the device that it is about. */
export interface EventSubject {
  /** operationId of the notification document. */
  readonly type: string;
  /** Empty if the body names no device. */
  readonly deviceId: string;
}

/** Reads the subject from the body, because deliveries of every release have it. */
export function subjectOf({ body }: Pick<Delivery, 'body'>): EventSubject {
  const parsed = parse(body);
  const { deviceId } = parsed;
  return {
    type: callbackTypes[callbackNameOf(parsed)],
    deviceId: typeof deviceId === 'string' ? deviceId : '',
  };
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // Services create the events. An event that is not JSON is still shown.
    return {};
  }
}

export function fits({ type, deviceId }: EventSubject, filter: FeedFilter): boolean {
  if (filter.types.length > 0 && !filter.types.includes(type)) return false;
  return filter.deviceId === '' || filter.deviceId === deviceId;
}
