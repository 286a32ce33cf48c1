import { DomainError } from '@headset-cloud/kit/errors.ts';
import { bind, type Handlers, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import {
  ApplicationsService,
  type DeviceStatus,
  DevicesService,
} from '@headset-cloud/proto/headset/devices/v1/service_pb.ts';
import {
  TransactionStatus,
  TransactionsService,
} from '@headset-cloud/proto/headset/transactions/v1/service_pb.ts';

type AllHandlers = Handlers<typeof ApplicationsService> &
  Handlers<typeof DevicesService> &
  Handlers<typeof TransactionsService>;

/** A service's call as the gateway made it. */
export interface Seen {
  readonly rpc: string;
  readonly request: unknown;
}

export const deviceId = '350000000000006';

/** Small stand-ins for the services: they remember what they were asked and answer the same things. */
export interface Fakes {
  readonly seen: Seen[];
  /** Replaces an answer for one test. */
  answers: Partial<AllHandlers>;
  readonly bindings: readonly RpcBinding[];
}

const refuse = () => {
  throw new DomainError('internal', 'not expected here');
};

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
    getSettings: async () => ({ settings: { deviceEvent: 'https://a.test/e' } }),
    updateSettings: async ({ set }) => ({ settings: { ...set, authenticationKey: 'key-1' } }),
    refreshAuthenticationKey: async () => ({ authenticationKey: 'key-2' }),
    getDestination: refuse,
    getActivation: async (r) => ({ deviceId: r.deviceId, activated: true, clientId: 'client-9' }),
    activateDevice: async () => ({ transactionId: 101n }),
    deactivateDevice: async () => ({ transactionId: 102n }),
    sendOperation: async () => ({ transactionId: 9007199254740991n }),
    resetDevice: async () => ({ transactionId: 103n }),
    getHardwareProperties: refuse,
    getAssociation: refuse,
    getDeviceStatus: async (r) => ({ status: { deviceId: r.deviceId } }),
    listDeviceStatuses: async () => ({ statuses: [] as DeviceStatus[], more: false }),
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
    cancelTransactions: async () => ({ canceledTransactionIds: [7n, 8n] }),
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
  ];
  return fakes;
}
