import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DownloadsService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { openTicket } from '../tickets.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * Returns a download URL for the content that a headset's ticket names. The URL serves ranges; each call signs a new
 * URL.
 */
export function getDownloadUrlHandler(
  deps: HandlerDependencies,
): Handlers<typeof DownloadsService>['getDownloadUrl'] {
  const refused = { url: '', expiresAtMs: 0n, refusal: UrlRefusal.NOT_FOUND };
  return async ({ deviceId, ticket: bytes }) => {
    const ticket = openTicket(deps.secrets, deviceId, bytes);
    if (!ticket) return refused;
    const artifact = await deps.catalogue.get(ticket.artifactId);
    if (artifact?.state !== 'deliverable' || artifact.objectKey !== ticket.objectKey) return refused;
    const seconds = deps.limits.downloadSeconds;
    const startMs = Math.floor(deps.clock.now() / 1000) * 1000;
    const url = await deps.storage.signDownload({ key: artifact.objectKey, startMs, seconds });
    return { url, expiresAtMs: BigInt(startMs + seconds * 1000), refusal: UrlRefusal.UNSPECIFIED };
  };
}
