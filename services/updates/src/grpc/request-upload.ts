import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requirePackage, requireSize, requireUnreserved, requireVersion } from '../domain/names.ts';
import { requestUpload } from '../uploads/request.ts';
import { developerOf, requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * Fixed by specification API 9. An upload is one PUT, so the value is only a recommendation for reading the file in
 * parts.
 */
const chunkPartSize = 10_485_760n;

/** POST …/apps. */
export function requestUploadHandler(
  deps: HandlerDependencies,
): Handlers<typeof UpdatesService>['requestUpload'] {
  return async ({ caller: given, package: packageName, version, sizeBytes: declared }) => {
    const caller = requireCaller(given);
    requirePackage(packageName);
    requireVersion(version);
    requireUnreserved(packageName, deps.limits.vendorPrefix);
    const sizeBytes = requireSize(declared, deps.limits.maxBytes, 'invalid_body');
    const developerId = await developerOf(deps, caller);
    const name = { kind: 'software', package: packageName, version } as const;
    const signed = await requestUpload(deps, { caller, name, developerId, sizeBytes });
    if (!signed) return { appFileExists: true, chunkPartSize, urls: [] };
    const { url, startMs, endMs } = signed;
    return {
      appFileExists: false,
      chunkPartSize,
      urls: [
        {
          uploadUrl: url,
          startTimestampMs: BigInt(startMs),
          endTimestampMs: BigInt(endMs),
          expireIn: (endMs - startMs) / 1000,
        },
      ],
    };
  };
}
