import type { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { defaultVersion, versionsDescending } from '../domain/versions.ts';
import type { EndpointStore } from '../ports/endpoint-store.ts';

/** GET /v1/applications/{applicationId}/sora/versions. */
export function listSoraVersionsHandler(
  endpoints: EndpointStore,
): Handlers<typeof CommunicationService>['listSoraVersions'] {
  return async () => {
    const [enabled, configured] = await Promise.all([endpoints.enabled(), endpoints.defaultVersion()]);
    const all = enabled.map(({ soraVersion }) => soraVersion);
    const defaultSoraVersion = defaultVersion(all, configured);
    return {
      versions: versionsDescending(all).map((soraVersion) => ({
        soraVersion,
        isDefault: soraVersion === defaultSoraVersion,
      })),
    };
  };
}
