import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Place } from '../domain/places.ts';

/** A Sora endpoint, as configured by operators. */
export interface Endpoint {
  readonly endpointId: string;
  readonly signalingUrl: string;
  readonly soraVersion: string;
  readonly connectionLimit: number;
  /** Empty if the endpoint stores no recordings. */
  readonly archiveUrl: string;
}

export interface EndpointWithPlaces extends Endpoint {
  /** Includes expired places until they are cleared. */
  readonly places: readonly Place[];
}

/** The endpoints. The document of an endpoint contains its places (rule B11). */
export interface EndpointStore {
  put(
    endpoint: Endpoint,
    secretHash: string | undefined,
    record: PendingAuditRecord,
  ): Promise<'put' | 'secret_missing'>;
  /** Stops new channels on the endpoint. False if the endpoint is not known. */
  remove(endpointId: string, record: PendingAuditRecord): Promise<boolean>;
  /** Endpoints that accept channels, ordered by id. */
  enabled(): Promise<EndpointWithPlaces[]>;
  get(endpointId: string): Promise<Endpoint | undefined>;
  /** SHA-256 of the webhooks' secret, also of a removed endpoint. */
  secretHash(endpointId: string): Promise<string | undefined>;
  defaultVersion(): Promise<string | undefined>;
  setDefaultVersion(soraVersion: string, record: PendingAuditRecord): Promise<void>;
  /** Removes expired places, and reservations whose end was written by a wrong clock. */
  clear(endpointId: string, nowMs: number): Promise<void>;
  /**
   * Takes places in one conditional update. Succeeds only while the endpoint is enabled and neither its places have
   * grown nor its limit has changed since `seen` was read.
   */
  take(seen: EndpointWithPlaces, places: readonly Place[]): Promise<boolean>;
  /**
   * Handles an event of a living connection: renews its place, takes over its channel's reservation, or takes a new
   * place. A new place may exceed the limit, because Sora has already accepted the connection.
   */
  occupy(endpointId: string, channelId: string, connectionId: string, untilMs: number): Promise<void>;
  /** Frees a place; idempotent. */
  free(endpointId: string, placeId: string): Promise<void>;
}
