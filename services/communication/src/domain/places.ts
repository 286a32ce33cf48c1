/**
 * A unit of an endpoint's connection limit. Taken by a connection, or reserved for a channel that nobody has joined.
 */
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
 * Latest plausible end of a reservation, with a margin for clock differences. Only a wrong clock writes a later end.
 */
export function latestReservationEndMs(nowMs: number, reservationMs: number): number {
  return nowMs + 2 * reservationMs;
}

/** Returns the places. A reservation that ends after `latestMs` is returned as expired: a wrong clock wrote its end. */
export function withPlausibleEnds(places: readonly Place[], latestMs: number): Place[] {
  return places.map((place) =>
    place.id.startsWith('r:') && place.untilMs > latestMs ? { ...place, untilMs: 0 } : place,
  );
}

/** Number of places that have not expired. */
export function takenAt(places: readonly Place[], nowMs: number): number {
  return places.filter(({ untilMs }) => untilMs > nowMs).length;
}

/**
 * Allocates `count` places one after the other. Each is on the endpoint with the fewest taken places that is not full.
 * If two endpoints have the same number, the lower id is used. Returns the endpoint ids; undefined for a place that was
 * not found because every endpoint is full.
 */
export function allocatePlaces(endpoints: readonly Capacity[], count: number): (string | undefined)[] {
  const candidates = [...endpoints]
    .sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
    .map((endpoint) => ({ ...endpoint }));
  return Array.from({ length: count }, () => {
    let best: { endpointId: string; taken: number } | undefined;
    for (const endpoint of candidates) {
      if (endpoint.taken < endpoint.limit && (!best || endpoint.taken < best.taken)) best = endpoint;
    }
    if (best) best.taken += 1;
    return best?.endpointId;
  });
}
