import { createHash } from 'node:crypto';
import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { type Implausible, implausible, plausibleTime } from '@headset-cloud/runtime/outside-time.ts';

type Json = Record<string, unknown>;

/** The events that are forwarded to the integrator (specification Callbacks 3). */
const forwarded: readonly string[] = [
  'connection.created',
  'connection.updated',
  'connection.destroyed',
  'archive.available',
  'archive.failed',
];

/**
 * Body of an event whose content an operator has removed (ADR 0047). The event keeps its key, to recognize repeats, and
 * its position in the order of the channel.
 */
export const emptiedBody = '{}';

/** An event webhook of Sora: the fields that the platform needs. */
export interface SoraEvent {
  readonly type: string;
  /** True for the five events that are forwarded to integrators. */
  readonly forwarded: boolean;
  /**
   * Time of the event by Sora's clock, or its arrival if Sora's time is absent or not plausible; milliseconds since
   * 1970.
   */
  readonly atMs: number;
  /**
   * Start of the connection as Sora reports it; undefined if absent or not plausible. If the end was replaced, a start
   * that is not plausible is moved by the same time.
   */
  readonly createdAtMs: number | undefined;
  /** Start of the connection, calculated from its duration in minutes (`minutes` of Sora); undefined if not known. */
  readonly beganAtMs: number | undefined;
  /** End of the connection as Sora reports it; undefined if absent or not plausible. */
  readonly destroyedAtMs: number | undefined;
  readonly channelId: string;
  readonly connectionId: string | null;
  /** The device id (15 digits) in the connection's metadata; not verified yet. */
  readonly claimedDeviceId: string | null;
  /** Sora's `data`, unchanged. */
  readonly data: Json;
}

/** Times of Sora's webhooks that may be replaced. */
export type SoraTime = 'event' | 'created' | 'destroyed' | 'minutes';

export interface Arrival {
  /** Milliseconds since 1970. */
  readonly arrivedAtMs: number;
  /** Creation time of the channel; undefined if not known. */
  readonly channelCreatedAtMs?: number | undefined;
}

/** How far Sora's clock may be behind the cloud's. */
const leewayMs = 60_000;

/**
 * Reads a webhook's body. Returns undefined if it is not an object with a type and a channel. Does not use a time after
 * the arrival, or before the creation of the channel, and reports it to `onReplaced` (rule A24).
 */
export function readSoraEvent(
  body: unknown,
  { arrivedAtMs, channelCreatedAtMs }: Arrival,
  onReplaced: (time: SoraTime, why: Implausible) => void = () => {},
): SoraEvent | undefined {
  if (!isObject(body)) return undefined;
  const data = isObject(body['data']) ? body['data'] : {};
  const type = text(body['type']);
  const channelId = text(body['channel_id']) ?? text(data['channel_id']);
  if (!type || !channelId) return undefined;
  // If the channel was created after the arrival, the cloud's clock was set back: then its creation time is not used.
  const isCreationPlausible = channelCreatedAtMs !== undefined && channelCreatedAtMs <= arrivedAtMs;
  const notBeforeMs = isCreationPlausible ? channelCreatedAtMs - leewayMs : undefined;
  const times = { notBeforeMs, arrivedAtMs };
  const plausible = (name: SoraTime, atMs: number | undefined) => {
    const why = atMs === undefined ? undefined : implausible(atMs, times);
    if (why !== undefined) onReplaced(name, why);
    return why === undefined ? atMs : undefined;
  };
  const soraAtMs = time(body['timestamp']);
  const atMs = plausibleTime(soraAtMs ?? 0, times, (why) => onReplaced('event', why));
  const soraDestroyedAtMs = timeIn(data, 'destroyed');
  const destroyedAtMs = plausible('destroyed', soraDestroyedAtMs);
  const movedByMs = (destroyedAtMs ?? atMs) - (soraDestroyedAtMs ?? soraAtMs ?? atMs);
  const soraCreatedAtMs = timeIn(data, 'created');
  // A wrong clock of Sora shifts both ends. The start is moved by the same time as the end, to keep the duration.
  const createdAtMs =
    plausible('created', soraCreatedAtMs) ??
    (movedByMs !== 0 && soraCreatedAtMs !== undefined && !implausible(soraCreatedAtMs + movedByMs, times)
      ? soraCreatedAtMs + movedByMs
      : undefined);
  const { minutes } = data;
  const hasMinutes = typeof minutes === 'number' && minutes >= 0;
  const beganAtMs = hasMinutes
    ? plausible('minutes', Math.round((destroyedAtMs ?? atMs) - minutes * 60_000))
    : undefined;
  return {
    type,
    forwarded: forwarded.includes(type),
    atMs,
    createdAtMs,
    destroyedAtMs,
    beganAtMs,
    channelId,
    connectionId: text(body['connection_id']) ?? text(data['connection_id']) ?? null,
    claimedDeviceId: deviceIn(body['event_metadata'], body['metadata'], data['metadata']),
    data,
  };
}

/**
 * Key of an event, the same for all its repeats. Derived from Sora's id, or, without an id, from type, subject and
 * time.
 */
export function eventKey(endpointId: string, body: Json, event: SoraEvent): string {
  const soraId = text(body['id']);
  const parts = soraId
    ? [endpointId, soraId]
    : [
        endpointId,
        event.type,
        event.channelId,
        event.connectionId,
        event.data['recording_id'],
        body['timestamp'],
      ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40);
}

/** Members of Sora's payload that may hold a client's credentials. */
const credentials =
  /token|secret|password|credential|api_?key|^authori[sz]ation$|^(auth|authn|authz|signaling_notify)?_?metadata$/i;

/** The payload without credentials, at any depth. */
export function withoutCredentials(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCredentials);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !credentials.test(name))
      .map(([name, member]) => [name, withoutCredentials(member)]),
  );
}

/**
 * A connection's time in a meeting, from its 'destroyed' event. The start comes from this event, from the earlier
 * 'created' event, or from Sora's count of minutes. Undefined if the start is not known.
 */
export function meetingTime(
  event: SoraEvent,
  seenCreatedAtMs: number | undefined,
): { startedAtMs: number; durationMs: number } | undefined {
  const endedAtMs = event.destroyedAtMs ?? event.atMs;
  const startedAtMs = event.createdAtMs ?? seenCreatedAtMs ?? event.beganAtMs;
  if (startedAtMs === undefined) return undefined;
  return { startedAtMs, durationMs: Math.max(0, endedAtMs - startedAtMs) };
}

/** The part of a connection's time that is not billed yet. `isFirst`: no part of the connection is billed yet. */
export function unbilledPart(
  { startedAtMs, durationMs }: { startedAtMs: number; durationMs: number },
  billedToMs: number | undefined,
): { startedAtMs: number; durationMs: number; isFirst: boolean } {
  if (billedToMs === undefined) return { startedAtMs, durationMs, isFirst: true };
  const endedAtMs = startedAtMs + durationMs;
  return { startedAtMs: billedToMs, durationMs: Math.max(0, endedAtMs - billedToMs), isFirst: false };
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A non-empty text of bounded length, such as Sora's ids and file names. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && !isLongerThan(value, 255) ? value : undefined;
}

/** `name` as a text with milliseconds, or in whole seconds. */
function timeIn(data: Json, name: 'created' | 'destroyed'): number | undefined {
  return time(data[`${name}_timestamp`]) ?? seconds(data[`${name}_time`]);
}

function time(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** The last second that a Date can hold. */
const lastSecond = 8.64e12;

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value <= lastSecond ? Math.round(value * 1000) : undefined;
}

function deviceIn(...sources: unknown[]): string | null {
  for (const source of sources) {
    const deviceId = isObject(source) ? source['deviceId'] : undefined;
    if (typeof deviceId === 'string' && /^\d{15}$/.test(deviceId)) return deviceId;
  }
  return null;
}
