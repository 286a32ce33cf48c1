import {
  type CreateTransactionRequest,
  FloorReason,
  TransactionsService,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { bindSome } from '@headset-cloud/rpc/testing/bind-some.ts';
import type { RpcBinding } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** A recorded transaction. */
export interface RecordedTransaction {
  readonly id: number;
  readonly deviceId: string;
  readonly applicationId: string;
  readonly operationId: string;
  readonly epoch: number;
  readonly raisesFloor: boolean;
  readonly floorReason: FloorReason;
  readonly minimumClientVersion: string;
  readonly minimumFirmwareVersion: string;
  readonly subject: string;
  readonly failMessage: string;
  readonly operation: CreateTransactionRequest['operation'];
}

/**
 * Fake of the transactions service for tests of this service. It keeps the guarantees that devices relies on (ids rise,
 * create is idempotent by id, an older activation epoch is rejected) and records the calls.
 */
export class RecordingTransactions {
  readonly created: RecordedTransaction[] = [];
  /** Error that every read of a transaction throws while it is set. */
  away: DomainError | undefined;
  /** Number of transaction reads so far. */
  asked = 0;
  /** Error that every create and every end of an activation throws while it is set. */
  failure: DomainError | undefined;
  /** Ends of activations: device id and the activation epoch afterwards. */
  readonly ended: [string, number][] = [];
  /** While set, a create takes effect but its caller gets this error. */
  silence: DomainError | undefined;
  /** Awaited before each create. */
  gate: Promise<void> | undefined;
  /** Number of creates that wait at the gate. */
  waiting = 0;
  #lastId = 1000;
  readonly #epochs = new Map<string, bigint>();

  get binding(): RpcBinding {
    return bindSome(TransactionsService, {
      drawTransactionId: async () => ({ transactionId: BigInt(this.#draw()) }),
      createTransaction: async (request) => {
        this.waiting += 1;
        await this.gate;
        this.waiting -= 1;
        const transactionId = BigInt(this.#create(request));
        if (this.silence) throw this.silence;
        return { transactionId };
      },
      endActivation: async ({ deviceId, activationEpoch }) => {
        if (this.failure) throw this.failure;
        this.ended.push([deviceId, Number(activationEpoch)]);
        const epoch = this.#epochs.get(deviceId) ?? 0n;
        this.#epochs.set(deviceId, epoch > activationEpoch ? epoch : activationEpoch);
        return {};
      },
      getTransaction: async ({ applicationId, transactionId }) => {
        this.asked += 1;
        if (this.away) throw this.away;
        const found = this.created.find((one) => one.id === Number(transactionId));
        if (found?.applicationId !== applicationId) {
          throw new DomainError('not_found', 'The transaction was not found.');
        }
        return {
          transaction: { transactionId, deviceId: found.deviceId, operationId: found.operationId },
        };
      },
    });
  }

  #draw(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #create(request: CreateTransactionRequest): number {
    if (this.failure) throw this.failure;
    const { deviceId, activationEpoch } = request;
    const id = Number(request.transactionId) || this.#draw();
    if (this.created.some((one) => one.id === id)) return id;
    if (activationEpoch < (this.#epochs.get(deviceId) ?? 0n)) {
      throw new DomainError('device_not_activated', 'The device is not activated.');
    }
    this.#epochs.set(deviceId, activationEpoch);
    this.created.push({
      id,
      deviceId,
      applicationId: request.applicationId,
      operationId: request.operationId,
      epoch: Number(activationEpoch),
      raisesFloor: request.raisesFloor !== FloorReason.UNSPECIFIED,
      floorReason: request.raisesFloor,
      minimumClientVersion: request.minimumClientVersion,
      minimumFirmwareVersion: request.minimumFirmwareVersion,
      subject: request.subject,
      failMessage: request.failMessage,
      operation: request.operation,
    });
    return id;
  }
}
