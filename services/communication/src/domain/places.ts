/** A taken place on an endpoint: of a channel that nobody has joined yet, or of a connection. */
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

/** The latest end of a valid reservation, with a margin for clock differences. A wrong clock wrote a later end. */
export function latestEnd(nowMs: number, reservationMs: number): number {
  return nowMs + 2 * reservationMs;
}

/** The places; a reservation with an end from a wrong clock counts as expired. */
export function asDated(places: readonly Place[], latestMs: number): Place[] {
  return places.map((place) =>
    place.id.startsWith('r:') && place.untilMs > latestMs ? { ...place, untilMs: 0 } : place,
  );
}

export function takenAt(places: readonly Place[], nowMs: number): number {
  return places.filter(({ untilMs }) => untilMs > nowMs).length;
}

/**
 * Allocates `wanted` places one after the other, each to the endpoint with free places that has the fewest taken
 * places. Undefined if every endpoint is full. The endpoint id breaks ties.
 */
export function allocatePlaces(endpoints: readonly Capacity[], wanted: number): (string | undefined)[] {
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
