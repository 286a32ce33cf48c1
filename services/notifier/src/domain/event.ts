import { callbackNameOf, callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import type { Delivery } from './delivery.ts';
import type { FeedFilter } from './feed-cursor.ts';

/** What integrators ask for by: the kind of a callback, and the device that it is about. */
export interface EventSubject {
  /** operationId of the notification document. */
  readonly type: string;
  /** Empty: it names none. */
  readonly deviceId: string;
}

/** Read from the body, which is all that deliveries of every release have. */
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
    // Events are made by services; one that is no JSON is still shown.
    return {};
  }
}

export function fits({ type, deviceId }: EventSubject, filter: FeedFilter): boolean {
  if (filter.types.length > 0 && !filter.types.includes(type)) return false;
  return filter.deviceId === '' || filter.deviceId === deviceId;
}
