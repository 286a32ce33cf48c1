import type { Setting } from '../domain/recording.ts';

/** Requests signed URLs from the integrator. Rejects with a DomainError. */
export type RequestSignedUrls = (
  applicationId: string,
  setting: Setting,
  body: Uint8Array,
) => Promise<Uint8Array>;
