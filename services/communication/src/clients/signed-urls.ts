import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { type Channel, createClient } from '@headset-cloud/rpc/types.ts';
import type { RequestSignedUrls } from '../ports/request-signed-urls.ts';

/** Longer than the notifier's deadline for the integrator's server. */
const deadlineMs = 30_000;

/** Requests signed URLs from the integrator through the notifier, which signs the request. */
export function createRequestSignedUrls(channel: Channel): RequestSignedUrls {
  const client = createClient(SignedUrlsService, channel, { deadlineMs });
  return async (applicationId, setting, body) =>
    (await client.requestSignedUrls({ applicationId, setting, body })).body;
}
