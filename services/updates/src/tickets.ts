import { ticketPurpose } from '@headset-cloud/proto/operations.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { Artifact } from './domain/artifact.ts';

/** The artifact that a ticket lets its headset download. */
export interface Ticket {
  readonly artifactId: string;
  /** Storage key of the content that the update was sent with. The key contains the hash, so the content is fixed. */
  readonly objectKey: string;
}

/** Creates a ticket that only this headset can redeem. It stays valid after a restart. */
export function issueTicket(
  secrets: SecretBox,
  deviceId: string,
  artifact: Pick<Artifact, 'id' | 'objectKey'>,
): Uint8Array {
  const ticket: Ticket = { artifactId: artifact.id, objectKey: artifact.objectKey };
  return secrets.seal(JSON.stringify(ticket), ticketPurpose(deviceId));
}

/** Decodes a ticket. Returns undefined if the bytes are not a ticket, or are a ticket of another headset. */
export function openTicket(secrets: SecretBox, deviceId: string, bytes: Uint8Array): Ticket | undefined {
  try {
    return JSON.parse(secrets.open(bytes, ticketPurpose(deviceId))) as Ticket;
  } catch {
    return undefined;
  }
}
