import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { CommunicationService } from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import {
  ApplicationsService,
  type DeviceStatus,
  DevicesService,
} from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { DeliveriesService } from '@headset-cloud/proto/notifier/v1/deliveries_pb.ts';
import { FeedService } from '@headset-cloud/proto/notifier/v1/feed_pb.ts';
import { TestCallbacksService } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import { TransactionStatus, TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { bind, type Handlers, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

type AllHandlers = Handlers<typeof ApplicationsService> &
  Handlers<typeof DevicesService> &
  Handlers<typeof TransactionsService> &
  Handlers<typeof UpdatesService> &
  Handlers<typeof ConnectivityService> &
  Handlers<typeof CommunicationService> &
  Handlers<typeof BillingService> &
  Handlers<typeof FeedService> &
  Handlers<typeof DeliveriesService> &
  Handlers<typeof TestCallbacksService>;

/** A call of the gateway to a service. */
export interface Seen {
  readonly rpc: string;
  readonly request: unknown;
}

export const deviceId = '350000000000006';

/** Fakes of the services: they record the calls and return fixed answers. */
export interface Fakes {
  readonly seen: Seen[];
  /** Replaces an answer for one test. */
  answers: Partial<AllHandlers>;
  readonly bindings: readonly RpcBinding[];
}

const refuse = () => {
  throw new DomainError('internal', 'not expected here');
};

const delivery = (deliveryId: string) => ({
  ...{ deliveryId, type: 'notify-boot', destination: 'deviceEvent', deviceId, state: 'dead', attempts: 1 },
  createdAtMs: 1_767_225_600_000n,
  endedAtMs: 1_767_225_600_001n,
});

function defaults(): AllHandlers {
  return {
    authorizeApplication: async ({ clientId, applicationId }) => {
      if (clientId === 'unregistered')
        throw new DomainError('developer_not_registered', 'No such developer.');
      if (applicationId !== 'app-1' && applicationId !== 'アプリ') {
        throw new DomainError('application_forbidden', 'No such application.');
      }
      return {};
    },
    authorizeDeveloper: async ({ clientId }) => {
      if (clientId === 'unregistered')
        throw new DomainError('developer_not_registered', 'No such developer.');
      return {};
    },
    getSettings: async () => ({ settings: { deviceEvent: 'https://a.test/e' } }),
    updateSettings: async ({ set }) => ({ settings: { ...set, authenticationKey: 'key-1' } }),
    refreshAuthenticationKey: async () => ({ authenticationKey: 'key-2' }),
    getDestination: refuse,
    getActivation: async (r) => ({ deviceId: r.deviceId, activated: true, clientId: 'client-9' }),
    activateDevice: async () => ({ transactionId: 101n }),
    deactivateDevice: async () => ({ transactionId: 102n }),
    undoActivation: async () => ({}),
    sendOperation: async () => ({ transactionId: 9007199254740991n }),
    resetDevice: async () => ({ transactionId: 103n }),
    getHardwareProperties: async (r) => ({ deviceId: r.deviceId }),
    getAssociation: refuse,
    getDeviceStatus: async (r) => ({ status: { deviceId: r.deviceId } }),
    listDeviceStatuses: async () => ({ statuses: [] as DeviceStatus[], more: false }),
    findDeviceStatuses: async () => ({ found: [], nextAfterDeviceId: '' }),
    drawTransactionId: refuse,
    createTransaction: refuse,
    getTransaction: async ({ transactionId }) => ({
      transaction: {
        transactionId,
        deviceId,
        status: TransactionStatus.ACCEPTED,
        operationId: 'put-v1-applications-devices-commands',
        createdAtMs: 1_767_225_600_000n,
        updatedAtMs: 1_767_225_600_001n,
      },
    }),
    listTransactions: async () => ({ transactions: [], isNext: false }),
    endActivation: async () => ({}),
    cancelTransactions: async () => ({ canceledTransactionIds: [7n, 8n] }),
    requestUpload: async () => ({ appFileExists: true, chunkPartSize: 10_485_760n, urls: [] }),
    withdrawApp: async ({ package: packageName, version }) => ({ package: packageName, version }),
    listApps: async () => ({ appVersions: [], totalCount: 0 }),
    listFirmware: async () => ({ firmwareVersions: [] }),
    updateApp: async () => ({ transactionId: 104n }),
    updateFirmware: async () => ({ transactionId: 105n }),
    listConnectivity: async () => ({ transactionId: 201n }),
    readState: async () => ({ transactionId: 202n }),
    changeState: async () => ({ transactionId: 203n }),
    resetConnectivity: async () => ({ transactionId: 204n }),
    addPairing: async () => ({ transactionId: 205n }),
    changePairing: async () => ({ transactionId: 206n }),
    deletePairing: async () => ({ transactionId: 207n }),
    createChannel: async () => ({ endpointUrl: 'wss://sora.test/', channelId: 'a1B2c3D4e5_1767225600000' }),
    listSoraVersions: async () => ({ versions: [] }),
    getBill: async () => ({ numberOfDevices: 0, devices: [] }),
    readEvents: async () => ({ events: [], cursor: 'c', more: false }),
    findDeliveries: async () => ({ deliveries: [], cursor: '' }),
    readDelivery: async ({ deliveryId }) => ({ delivery: delivery(deliveryId), attempts: [], body: '{}' }),
    recover: async () => ({
      count: 3,
      recovery: { recoveryId: 'recovery-1', total: 3, beganAtMs: 1_767_225_600_000n },
    }),
    readRecovery: async ({ recoveryId }) => ({
      recovery: {
        recoveryId,
        total: 3,
        done: 3,
        beganAtMs: 1_767_225_600_000n,
        endedAtMs: 1_767_225_600_001n,
      },
    }),
    sendAgain: async ({ deliveryId }) => ({ delivery: delivery(deliveryId) }),
    sendTestCallback: async ({ body }) => ({
      ...{ webhookId: 'test-1', host: 'a.test', attempt: { statusCode: 204 }, body },
    }),
  };
}

export function createFakes(): Fakes {
  const fakes: Fakes = { seen: [], answers: {}, bindings: [] };
  const standing = defaults();
  const handlers = Object.fromEntries(
    Object.keys(standing).map((rpc) => [
      rpc,
      async (request: never, context: never) => {
        fakes.seen.push({ rpc, request });
        const handler = (fakes.answers[rpc as keyof AllHandlers] ?? standing[rpc as keyof AllHandlers]) as (
          request: never,
          context: never,
        ) => Promise<unknown>;
        return handler(request, context);
      },
    ]),
  ) as unknown as AllHandlers;
  (fakes as { bindings: readonly RpcBinding[] }).bindings = [
    bind(ApplicationsService, handlers),
    bind(DevicesService, handlers),
    bind(TransactionsService, handlers),
    bind(UpdatesService, handlers),
    bind(ConnectivityService, handlers),
    bind(CommunicationService, handlers),
    bind(BillingService, handlers),
    bind(FeedService, handlers),
    bind(DeliveriesService, handlers),
    bind(TestCallbacksService, handlers),
  ];
  return fakes;
}
