/** One place taken on an endpoint: by a channel that nobody has joined yet, or by a connection. */
export interface Place {
  /** `reservationOf` or `connectionOf`. */
  readonly id: string;
  /** When the place expires; milliseconds since 1970. */
  readonly untilMs: number;
}

export const reservationOf = (channelId: string): string => `r:${channelId}`;
export const connectionOf = (connectionId: string): string => `c:${connectionId}`;

/** The capacity of an endpoint, for allocation. */
export interface Capacity {
  readonly endpointId: string;
  readonly limit: number;
  readonly taken: number;
}

/**
 * The latest end that a valid reservation can have, with a margin for clock differences; a later end was
 * written by a wrong clock.
 */
export function latestEnd(nowMs: number, reservationMs: number): number {
  return nowMs + 2 * reservationMs;
}

/** The places; a reservation that a wrong clock dated counts as expired. */
export function asDated(places: readonly Place[], latestMs: number): Place[] {
  return places.map((place) =>
    place.id.startsWith('r:') && place.untilMs > latestMs ? { ...place, untilMs: 0 } : place,
  );
}

export function takenAt(places: readonly Place[], nowMs: number): number {
  return places.filter(({ untilMs }) => untilMs > nowMs).length;
}

/**
 * Allots each of `wanted`, one after the other, to the endpoint with the fewest taken places that still has
 * room; undefined if every endpoint is full. Ties are broken by endpoint id.
 */
export function allot(endpoints: readonly Capacity[], wanted: number): (string | undefined)[] {
  const now = [...endpoints]
    .sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
    .map((endpoint) => ({ ...endpoint }));
  return Array.from({ length: wanted }, () => {
    let best: { endpointId: string; taken: number } | undefined;
    for (const endpoint of now) {
      if (endpoint.taken < endpoint.limit && (!best || endpoint.taken < best.taken)) best = endpoint;
    }
    if (best) best.taken += 1;
    return best?.endpointId;
  });
}
