import { createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { BillingAdminService } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { CommunicationAdminService } from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import { DeadLettersAdminService } from '@headset-cloud/proto/eventlog/v1/admin_pb.ts';
import { NotifierAdminService } from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import { TransactionsAdminService } from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { generateHeadsetKey, type HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';

/** Admin URLs of the services. On the embedded stack they are all the same. */
export interface AdminAddresses {
  readonly devices: string;
  readonly transactions: string;
  readonly notifier: string;
  readonly updates: string;
  readonly connectivity: string;
  readonly communication: string;
  readonly billing: string;
}

/** A client of the operators' API. `token`: ADMIN_TOKEN if it is set. `more`: additional interceptors. */
export function createAdmin(addresses: AdminAddresses, token?: string, more: readonly Interceptor[] = []) {
  const authorize: Interceptor = (next) => (request) => {
    if (token) request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };
  const at = (baseUrl: string) =>
    createConnectTransport({
      ...{ baseUrl, httpVersion: '1.1', defaultTimeoutMs: 10_000 },
      interceptors: [...more, authorize],
    });
  return {
    devices: createClient(DevicesAdminService, at(addresses.devices)),
    transactions: createClient(TransactionsAdminService, at(addresses.transactions)),
    notifier: createClient(NotifierAdminService, at(addresses.notifier)),
    updates: createClient(UpdatesAdminService, at(addresses.updates)),
    communication: createClient(CommunicationAdminService, at(addresses.communication)),
    billing: createClient(BillingAdminService, at(addresses.billing)),
    /** One client per service that consumes events. A shared admin port needs only one client. */
    deadLetters: [
      ...new Set([
        addresses.transactions,
        addresses.devices,
        addresses.notifier,
        addresses.billing,
        addresses.connectivity,
      ]),
    ].map((address) => createClient(DeadLettersAdminService, at(address))),
  };
}
export type Admin = ReturnType<typeof createAdmin>;

/** Registers a device with its own key. */
export async function provisionDevice(admin: Admin, deviceId: string): Promise<HeadsetKeyFile> {
  const { file, publicKeyPem } = generateHeadsetKey(deviceId);
  await admin.devices.putDevice({ deviceId });
  await admin.devices.addHeadsetKey({ deviceId, publicKeyPem });
  return file;
}

/** Creates a developer's application with a contract for devices. */
export async function provisionApplication(
  admin: Admin,
  options: {
    developerId: string;
    clientIds: string[];
    applicationId?: string;
    name: string;
    activationLimit: number;
    deviceIds: string[];
  },
): Promise<string> {
  await admin.devices.putDeveloper({
    developer: { developerId: options.developerId, name: options.name, clientIds: options.clientIds },
  });
  const { application } = await admin.devices.createApplication({
    application: {
      applicationId: options.applicationId ?? '',
      developerId: options.developerId,
      name: options.name,
    },
  });
  const applicationId = application?.applicationId ?? '';
  await admin.devices.putContract({
    applicationId,
    activationLimit: options.activationLimit,
    addDeviceIds: options.deviceIds,
  });
  return applicationId;
}
