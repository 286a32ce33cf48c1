import { createHash, createPublicKey } from 'node:crypto';
import { type JsonValue, type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { createAdminServer } from '@headset-cloud/process/admin-server.ts';
import {
  AuditAdminService,
  type ListAuditRecordsRequest,
  type ListAuditRecordsResponseSchema,
} from '@headset-cloud/proto/audit/v1/admin_pb.ts';
import {
  AddUsageRequestSchema,
  BillingAdminService,
  PutPlansRequestSchema,
} from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { UsageKind } from '@headset-cloud/proto/billing/v1/events_pb.ts';
import {
  CommunicationAdminService,
  type Endpoint,
  type ForgetApplicationRequest as ForgetChannels,
  type ForgetDeviceRequest as ForgetConnections,
} from '@headset-cloud/proto/communication/v1/admin_pb.ts';
import {
  type DeviceSchema,
  DevicesAdminService,
  type ForgetApplicationRequest as ForgetApplication,
  type PutContractRequest,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { HardwareModel } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import {
  type ForgetApplicationRequest as ForgetApplicationCallbacks,
  type ForgetDeviceRequest as ForgetCallbacks,
  NotifierAdminService,
} from '@headset-cloud/proto/notifier/v1/admin_pb.ts';
import {
  type ForgetApplicationRequest as ForgetApplicationTransactions,
  type ForgetDeviceRequest as ForgetTransactions,
  type ShowTransactionResponseSchema,
  TransactionsAdminService,
} from '@headset-cloud/proto/transactions/v1/admin_pb.ts';
import { TransactionStatus } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Warning } from '@headset-cloud/runtime/lifecycle.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';

/** A real admin port over HTTP, with fixed answers and a record of the calls. */
export interface Listener {
  readonly url: string;
  readonly contractCalls: PutContractRequest[];
  /** Registered public keys by device. */
  readonly keys: Map<string, string>;
  /** Names of registered keys, in order. */
  readonly keyNames: string[];
  /** Ids of removed keys, or of devices whose keys were all removed, in order. */
  readonly removedKeys: string[];
  /** Notifications that were sent again, in order. */
  readonly redelivered: string[];
  /** Changes that billing received, in protobuf's JSON. */
  readonly billingCalls: JsonValue[];
  /** Calls of `audit list`. */
  readonly auditCalls: ListAuditRecordsRequest[];
  /** Sora endpoints that were put. */
  readonly endpoints: Endpoint[];
  close(): Promise<void>;
}

/** The key id as a service computes it from the public key. */
export function thumbprint(pem: string): string {
  const { crv, kty, x, y } = createPublicKey(pem).export({ format: 'jwk' });
  const text = JSON.stringify({ crv, kty, x, y });
  return createHash('sha256').update(text).digest('base64url');
}

export async function openListener(
  options: {
    token?: string;
    only?: 'devices';
    /** Name of the process, and why it is not ready. */
    service?: string;
    notReady?: string[];
    clock?: Clock;
    /** Called when a process is asked for its status. */
    onStatus?: () => void;
    /** Dependencies that the process continues without. */
    warnings?: Warning[];
    keyIdOf?: (publicKeyPem: string) => string;
    /** The applications of every developer. */
    applications?: readonly string[];
    /** Answer to `devices show`. */
    device?: MessageInitShape<typeof DeviceSchema>;
    /** Answer to `transactions show`; absent: a canceled transaction. */
    transaction?: MessageInitShape<typeof ShowTransactionResponseSchema>;
    /** Answer to `audit list`. */
    audit?: MessageInitShape<typeof ListAuditRecordsResponseSchema>;
    /** Failure of calls for a headset key, a new application or a list of developers: no answer, or an error. */
    trouble?: 'silent' | 'failing';
    /** Error of a call for something that does not exist. */
    missing?: string;
    /** The dead deliveries of every application, oldest first. They die again at once. */
    dead?: readonly string[];
    /** True for a notifier that does not know `createdAfterMs`. */
    ignoresCreatedAfter?: boolean;
    /** Dead deliveries that cannot be sent again, with the reason. */
    refused?: Readonly<Record<string, 'conflict' | 'unavailable'>>;
    /** Answer to `devices forget`; absent: no data exists. */
    forget?: {
      transactions(
        request: ForgetTransactions,
      ): MessageInitShape<typeof TransactionsAdminService.method.forgetDevice.output>;
      notifier(
        request: ForgetCallbacks,
      ): MessageInitShape<typeof NotifierAdminService.method.forgetDevice.output>;
      communication(
        request: ForgetConnections,
      ): MessageInitShape<typeof CommunicationAdminService.method.forgetDevice.output>;
    };
    /** Answer to `applications forget`; absent: no data exists. */
    forgetApplication?: {
      devices(
        request: ForgetApplication,
      ): MessageInitShape<typeof DevicesAdminService.method.forgetApplication.output>;
      transactions(
        request: ForgetApplicationTransactions,
      ): MessageInitShape<typeof TransactionsAdminService.method.forgetApplication.output>;
      notifier(
        request: ForgetApplicationCallbacks,
      ): MessageInitShape<typeof NotifierAdminService.method.forgetApplication.output>;
      communication(
        request: ForgetChannels,
      ): MessageInitShape<typeof CommunicationAdminService.method.forgetApplication.output>;
    };
    /** The IMEIs that every contract names, in order; absent: there is no contract. */
    contract?: readonly string[];
    /** Its activation limit; default 0. */
    contractLimit?: number;
  } = {},
): Promise<Listener> {
  const contractCalls: PutContractRequest[] = [];
  const keys = new Map<string, string>();
  const keyNames: string[] = [];
  const removedKeys: string[] = [];
  const redelivered: string[] = [];
  const models: HardwareModel[] = [];
  const auditCalls: ListAuditRecordsRequest[] = [];
  const billingCalls: JsonValue[] = [];
  const missing = () =>
    Promise.reject(
      new DomainError('not_found', options.missing ?? 'The thing does not exist. Put it first.'),
    );
  const troubled = async () => {
    if (options.trouble === 'silent') await new Promise(() => {});
    if (options.trouble === 'failing') throw new DomainError('internal', 'The database failed.');
  };
  const devices = bind(DevicesAdminService, {
    putDeveloper: async ({ developer }) => ({ developer }),
    listDevelopers: async () => {
      await troubled();
      return { developers: [{ developerId: 'acme', name: 'Acme', clientIds: ['one', 'two'] }] };
    },
    createApplication: async ({ application }) => {
      await troubled();
      return { application };
    },
    listApplications: async ({ developerId }) => ({
      applications: (options.applications ?? []).map((applicationId) => ({ applicationId, developerId })),
    }),
    putContract: async (request) => {
      contractCalls.push(request);
      const { applicationId, activationLimit } = request;
      return { contract: { applicationId, activationLimit } };
    },
    getContract: ({ applicationId }) =>
      options.contract
        ? Promise.resolve({
            contract: {
              ...{ applicationId, deviceIds: options.contract.slice(0, 1000) },
              ...(options.contractLimit !== undefined && { activationLimit: options.contractLimit }),
            },
          })
        : missing(),
    listContractDevices: async ({ afterDeviceId, limit }) => {
      const rest = (options.contract ?? []).filter((deviceId) => deviceId > afterDeviceId);
      return { deviceIds: rest.slice(0, limit) };
    },
    putDevice: async ({ deviceId, specificDestination }) => ({
      device: { deviceId, specificDestination: specificDestination ?? '(unchanged)' },
    }),
    getDevice: ({ deviceId }) =>
      options.device ? Promise.resolve({ device: { deviceId, ...options.device } }) : missing(),
    listDevices: async ({ limit }) => ({
      devices: Array.from({ length: limit }, (_, n) => ({ deviceId: String(356938035643800 + n) })),
    }),
    putHardwareModel: async ({ model }) => {
      if (model) models.push(model);
      return { model };
    },
    listHardwareModels: async () => ({ models }),
    forgetDevice: async () => ({ forgotten: [{ what: 'headset keys', removed: 1 }] }),
    forgetApplication: async (request) => options.forgetApplication?.devices(request) ?? {},
    addHeadsetKey: async ({ deviceId, publicKeyPem, name }) => {
      if (!options.keyIdOf) return missing();
      keys.set(deviceId, publicKeyPem);
      keyNames.push(name);
      await troubled();
      return { keyId: options.keyIdOf(publicKeyPem) };
    },
    removeHeadsetKey: async ({ keyId }) => {
      removedKeys.push(keyId);
      return {};
    },
    // Two devices for each application, one per page. The second device has no key.
    listHeadsetKeys: async ({ applicationId, afterDeviceId }) => {
      const key = { keyId: 'k1', name: 'at the factory', createdAtMs: 1000n, lastUsedAtMs: 2000n };
      if (applicationId === '') return { keys: [key, { keyId: 'k2' }] };
      const [first, second] = [`${applicationId}-1`, `${applicationId}-2`];
      return afterDeviceId === ''
        ? { devices: [{ deviceId: first, keys: [key] }], nextAfterDeviceId: first }
        : { devices: [{ deviceId: second, keys: [] }] };
    },
    // Two devices for each application, one per page.
    removeAllHeadsetKeys: async ({ of, afterDeviceId, dryRun }) => {
      if (of.case === 'deviceId') {
        if (!dryRun) removedKeys.push(of.value);
        return { devices: [{ deviceId: of.value, keyIds: ['k1', 'k2'] }] };
      }
      const [first, second] = [`${of.value}-1`, `${of.value}-2`];
      const deviceId = afterDeviceId === '' ? first : second;
      if (!dryRun) removedKeys.push(deviceId);
      return {
        devices: [{ deviceId, keyIds: ['k1'] }],
        nextAfterDeviceId: afterDeviceId === '' ? first : '',
      };
    },
  });
  const transactions = bind(TransactionsAdminService, {
    listTransactionsOfDevice: async ({ deviceId, openOnly }) => ({
      transactions: openOnly
        ? []
        : [{ transactionId: 42n, deviceId, status: TransactionStatus.ACCEPTED, createdAtMs: 1000n }],
    }),
    findTransactions: async (request) => {
      const { applicationId, status, createdBeforeMs } = request;
      return { transactions: [{ transactionId: 7n, applicationId, status, createdAtMs: createdBeforeMs }] };
    },
    forgetDevice: async (request) => options.forget?.transactions(request) ?? {},
    forgetApplication: async (request) => options.forgetApplication?.transactions(request) ?? {},
    showTransaction: async ({ transactionId }) =>
      options.transaction ?? {
        transaction: { transactionId, status: TransactionStatus.CANCELED },
        endMessage: 'retry limit',
      },
  });
  const notifier = bind(NotifierAdminService, {
    listDeliveries: async ({ applicationId, status, oldestFirst, createdAfterMs = -1n, limit }) => ({
      deliveries: (applicationId === '' ? ['n1'] : (options.dead ?? []))
        .map((notificationId, n) => ({
          ...{ notificationId, status, createdAtMs: BigInt(n) },
          lastOutcome: oldestFirst ? 'oldest' : 'newest',
        }))
        .filter(({ createdAtMs }) => options.ignoresCreatedAfter || createdAtMs > createdAfterMs)
        .slice(0, limit),
    }),
    getDelivery: async ({ notificationId }) => ({
      delivery: { notificationId, status: 'dead' },
      recentAttempts: [{ atMs: 1000n, durationMs: 5, statusCode: 500 }],
      body: '{"a":1}',
    }),
    forgetDevice: async (request) => options.forget?.notifier(request) ?? {},
    forgetApplication: async (request) => options.forgetApplication?.notifier(request) ?? {},
    redeliverDelivery: async ({ notificationId }) => {
      const code = options.refused?.[notificationId];
      if (code) throw new DomainError(code, 'Not now.');
      redelivered.push(notificationId);
      return { delivery: { notificationId, status: 'pending' } };
    },
  });
  const billing = bind(BillingAdminService, {
    putPlans: async (request) => {
      billingCalls.push(toJson(PutPlansRequestSchema, request));
      return {};
    },
    listPlans: async () => ({
      plans: [{ deviceId: '356938035643809', plans: { videoMeeting: 'basic 100' } }],
    }),
    addUsage: async (request) => {
      billingCalls.push(toJson(AddUsageRequestSchema, request));
      return { added: request.usage?.usageId === 'u1' };
    },
    listUsage: async ({ applicationId, year, month, limit, offset }) => ({
      usage: [
        {
          usageId: `${applicationId}-${year}-${month}-${limit}-${offset}`,
          kind: UsageKind.SPEECH_RECOGNITION,
        },
      ],
    }),
    showBill: async ({ year, month }) => {
      if (month === 13)
        throw new DomainError('invalid_argument', 'month is not a whole number from 1 to 12.');
      return {
        bill: {
          numberOfDevices: 3,
          ...(year === 2026 && { activateDevices: 2 }),
          devices: [
            { deviceId: '356938035643809', plans: { speechRecognition: 'ja' }, videoMeetingHours: 7 },
          ],
          othersVideoMeetingHours: month,
        },
      };
    },
  });
  const endpoints: Endpoint[] = [];
  const communication = bind(CommunicationAdminService, {
    putEndpoint: async ({ endpoint }) => {
      if (endpoint) endpoints.push(endpoint);
      return { endpoint };
    },
    listEndpoints: async () => ({ endpoints, defaultVersion: '2024.1.0' }),
    removeEndpoint: missing,
    setDefaultVersion: async () => ({}),
    forgetDevice: async (request) => options.forget?.communication(request) ?? {},
    forgetApplication: async (request) => options.forgetApplication?.communication(request) ?? {},
    listRecordings: async ({ applicationId, limit }) => ({
      recordings:
        limit === 1 ? [] : [{ recordingId: 'R1', applicationId, state: 'uploading', totalBytes: 9n }],
    }),
  });
  const audit = bind(AuditAdminService, {
    listAuditRecords: async (request) => {
      auditCalls.push(request);
      return options.audit ?? {};
    },
  });
  const bindings: RpcBinding[] = options.only
    ? [devices]
    : [devices, transactions, notifier, billing, communication, audit];
  const server = createAdminServer({
    service: options.service ?? 'platform',
    listen: { host: '127.0.0.1', port: 0 },
    token: options.token,
    bindings,
    metrics: new Registry(),
    notReady: () => {
      options.onStatus?.();
      return options.notReady ?? [];
    },
    ...(options.clock && { clock: options.clock }),
    warnings: () => options.warnings ?? [],
    logger: createLogger({ service: 'test', level: 'silent' }),
  });
  await server.start();
  return {
    url: `http://127.0.0.1:${server.port()}`,
    contractCalls,
    keys,
    keyNames,
    removedKeys,
    redelivered,
    auditCalls,
    billingCalls,
    endpoints,
    close: () => server.stop(),
  };
}
