import type { PackageVersion, UploadUrl } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { GatewayClients } from '../clients.ts';
import { bodyOf } from './decode.ts';
import { transactionCreated } from './encode.ts';
import type { Handlers } from './types.ts';

interface UploadBody {
  readonly package: string;
  readonly version: string;
  readonly fileSize: number;
}

const versionJson = (v: Pick<PackageVersion, 'package' | 'version'>) => ({
  package: v.package,
  version: v.version,
});

const urlJson = (u: UploadUrl) => ({
  uploadUrl: u.uploadUrl,
  startTimestamp: Number(u.startTimestampMs),
  endTimestamp: Number(u.endTimestampMs),
  expireIn: u.expireIn,
});

/** Software and firmware: catalogue, uploads, and immediate updates. */
export function updateHandlers({ updates }: Pick<GatewayClients, 'updates'>): Handlers {
  return {
    'get-v1-applications-apps': async ({ caller, query }) => {
      const { package: packageName, mode, offset, limit } = query;
      const answer = await updates.listApps({
        caller,
        package: String(packageName ?? ''),
        latest: mode === 'latest',
        offset: Number(offset),
        limit: Number(limit),
      });
      return {
        status: 200,
        json: {
          appVersions: answer.appVersions.map(versionJson),
          totalCount: answer.totalCount,
          offset,
          limit,
        },
      };
    },

    'post-v1-applications-apps': async (call) => {
      const { caller } = call;
      const { package: packageName, version, fileSize } = bodyOf<UploadBody>(call);
      const upload = await updates.requestUpload({
        caller,
        package: packageName,
        version,
        sizeBytes: BigInt(fileSize),
      });
      return {
        status: 201,
        json: {
          appFileExists: upload.appFileExists,
          chunkPartSize: Number(upload.chunkPartSize),
          uploadId: null,
          urlList: upload.urls.map(urlJson),
        },
      };
    },

    'post-v1-applications-apps-withdraw': async (call) => {
      const { package: packageName, version } = bodyOf<Omit<UploadBody, 'fileSize'>>(call);
      const withdrawn = await updates.withdrawApp({ caller: call.caller, package: packageName, version });
      return { status: 200, json: versionJson(withdrawn) };
    },

    'get-v1-applications-firmware': async ({ caller }) => {
      const { firmwareVersions } = await updates.listFirmware({ caller });
      return { status: 200, json: { firmwareVersions: firmwareVersions.map(versionJson) } };
    },

    'put-v1-applications-devices-apps': async (call) => {
      const { applicationId, deviceId, caller } = call;
      const { package: packageName, version } = bodyOf<Omit<UploadBody, 'fileSize'>>(call);
      const request = { caller, deviceId, package: packageName, version };
      const { transactionId } = await updates.updateApp(request);
      return transactionCreated(applicationId, transactionId);
    },

    'put-v1-applications-devices-firmware': async (call) => {
      const { applicationId, deviceId, caller } = call;
      const { version } = bodyOf<Pick<UploadBody, 'version'>>(call);
      const { transactionId } = await updates.updateFirmware({ caller, deviceId, version });
      return transactionCreated(applicationId, transactionId);
    },
  };
}
