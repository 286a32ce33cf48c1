import { create, type Message, toBinary } from '@bufbuild/protobuf';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import {
  type CreateTransactionRequest,
  CreateTransactionResponseSchema,
  TransactionsService,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { methodDefinition } from '@headset-cloud/rpc/grpc.ts';
import { type BaselineStore, openBaselineStore } from './store.ts';

/**
 * The second handler of the create baseline, behind one real gRPC hop: one conditional
 * findOneAndUpdate (the device's counter) and one journalled insertOne (the transaction). Returns
 * the port.
 */
export async function startCreateHandler(options: BaselineStore): Promise<number> {
  const store = (await openBaselineStore(options)).database('create');
  const heads = store.collection<{ _id: string; lastId: number; epoch: number }>('heads');
  const transactions = store.collection<{ _id: number; deviceId: string }>('transactions');
  let lastId = Date.now();

  const handle = async (request: CreateTransactionRequest): Promise<Message> => {
    const id = ++lastId;
    const head = await heads.findOneAndUpdate(
      { _id: request.deviceId, epoch: { $lte: Number(request.activationEpoch) } },
      { $max: { lastId: id }, $set: { epoch: Number(request.activationEpoch) } },
      { upsert: true, returnDocument: 'after' },
    );
    if (!head) throw new Error('no head');
    await transactions.insertOne({
      _id: id,
      deviceId: request.deviceId,
      applicationId: request.applicationId,
      operationId: request.operationId,
      status: 'created',
      operation: request.operation ? toBinary(OperationSchema, request.operation) : new Uint8Array(),
      createdAt: new Date(),
    } as { _id: number; deviceId: string });
    return create(CreateTransactionResponseSchema, { transactionId: BigInt(id) });
  };

  const server = new Server();
  server.addService(
    { create: methodDefinition(TransactionsService.method.createTransaction) },
    {
      create: (
        call: { request: CreateTransactionRequest },
        callback: (error: Error | null, answer?: Message) => void,
      ) => {
        handle(call.request).then((answer) => callback(null, answer), callback);
      },
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}
