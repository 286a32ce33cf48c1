import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Operation, OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf, ticketPurpose } from '@headset-cloud/proto/operations.ts';
import type { SealedPlace, SealedValue } from '@headset-cloud/rules/sealed/places.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import type { Status } from '../domain/state.ts';
import type { TransactionDocument } from './documents.ts';

const updates = [operationOf('updateApp').id, operationOf('updateFirmware').id];

/**
 * Each is offered, with its newest ticket, in every session until it is accepted; then the headset's own copy
 * counts, which cannot be moved. In the order in which a transaction passes through them.
 */
const passed: readonly Status[] = ['created', 'published', 'accepted'];
const offeredAgain: Status[] = ['created', 'published'];

/** The tickets, sealed by updates, in updates that headsets have not done yet. */
export function sealedTickets(transactions: StoreCollection<TransactionDocument>): SealedPlace {
  return {
    name: 'tickets of updates',
    async page(after, limit) {
      const { status, id } = placeOf(after);
      const found = await transactions
        .find(
          { open: true, status, operationId: { $in: updates }, _id: { $gt: id } },
          { sort: { _id: 1 }, limit, projection: { deviceId: 1, status: 1, operation: 1 } },
        )
        .toArray();
      const values = found.flatMap((document) => ticketIn(transactions, document) ?? []);
      const last = found.length === limit ? found.at(-1)?._id : undefined;
      const following = passed[passed.indexOf(status) + 1];
      const next = last !== undefined ? `${status} ${last}` : following && `${following} 0`;
      return { values, ...(next !== undefined && { next }) };
    },
  };
}

function placeOf(after: string): { status: Status; id: number } {
  const [name, id] = after.split(' ');
  return { status: passed.find((one) => one === name) ?? 'created', id: Number(id ?? 0) };
}

type Found = Pick<TransactionDocument, '_id' | 'deviceId' | 'status' | 'operation'>;

function ticketIn(
  transactions: StoreCollection<TransactionDocument>,
  { _id, deviceId, status, operation: stored }: Found,
): SealedValue | undefined {
  if (!stored) return undefined;
  const operation = fromBinary(OperationSchema, stored.buffer);
  const artifact = artifactOf(operation);
  if (!artifact) return undefined;
  return {
    of: String(_id),
    sealed: artifact.ticket,
    purpose: ticketPurpose(deviceId),
    ...(offeredAgain.includes(status) && {
      async replace(sealed: Uint8Array) {
        artifact.ticket = Buffer.from(sealed);
        const filter: Filter<TransactionDocument> = { _id, status: { $in: offeredAgain } };
        const moved = new Binary(toBinary(OperationSchema, operation));
        return (await transactions.updateOne(filter, { $set: { operation: moved } })).matchedCount === 1;
      },
    }),
  };
}

function artifactOf({ kind }: Operation) {
  return kind.case === 'updateApp' || kind.case === 'updateFirmware' ? kind.value.artifact : undefined;
}
