import type { SecretBox } from '@headset-cloud/kit/secrets.ts';
import type { Artifact } from './domain/artifact.ts';

/** What a ticket lets its headset load. */
export interface Ticket {
  readonly artifactId: string;
  /** The very content that the update named: its key bears the hash. */
  readonly objectKey: string;
}

const purpose = (deviceId: string) => `updates ticket ${deviceId}`;

/** A text that only this headset can redeem; holds over restarts. */
export function issueTicket(
  secrets: SecretBox,
  deviceId: string,
  artifact: Pick<Artifact, 'id' | 'objectKey'>,
): Uint8Array {
  const ticket: Ticket = { artifactId: artifact.id, objectKey: artifact.objectKey };
  return secrets.seal(JSON.stringify(ticket), purpose(deviceId));
}

/** Undefined: not a ticket, or another headset's. */
export function openTicket(secrets: SecretBox, deviceId: string, bytes: Uint8Array): Ticket | undefined {
  try {
    return JSON.parse(secrets.open(bytes, purpose(deviceId))) as Ticket;
  } catch {
    return undefined;
  }
}
