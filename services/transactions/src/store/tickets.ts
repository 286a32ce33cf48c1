import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Operation, OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { operationOf, ticketPurpose } from '@headset-cloud/proto/operations.ts';
import type { SealedLocation, SealedValue } from '@headset-cloud/rules/sealed/locations.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Binary } from 'mongodb';
import type { Status } from '../domain/state.ts';
import type { TransactionDocument } from './documents.ts';

const updates = [operationOf('updateApp').id, operationOf('updateFirmware').id];

/**
 * States of an unprocessed transaction, in their order. Until a transaction is accepted, every offer contains the
 * stored ticket, so the ticket can be replaced. Afterwards the headset uses its own copy.
 */
const openInOrder: readonly Status[] = ['created', 'published', 'accepted'];
const replaceableStates: Status[] = ['created', 'published'];

/** Tickets in unprocessed updates, sealed by the service updates. */
export function sealedTickets(transactions: StoreCollection<TransactionDocument>): SealedLocation {
  return {
    name: 'tickets of updates',
    async page(after, limit) {
      const { status, id } = parsePosition(after);
      const found = await transactions
        .find(
          { open: true, status, operationId: { $in: updates }, _id: { $gt: id } },
          { sort: { _id: 1 }, limit, projection: { deviceId: 1, status: 1, operation: 1 } },
        )
        .toArray();
      const values = found.flatMap((document) => ticketIn(transactions, document) ?? []);
      const last = found.length === limit ? found.at(-1)?._id : undefined;
      const following = openInOrder[openInOrder.indexOf(status) + 1];
      const next = last !== undefined ? `${status} ${last}` : following && `${following} 0`;
      return { values, ...(next !== undefined && { next }) };
    },
  };
}

function parsePosition(after: string): { status: Status; id: number } {
  const [name, id] = after.split(' ');
  return { status: openInOrder.find((one) => one === name) ?? 'created', id: Number(id ?? 0) };
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
    ...(replaceableStates.includes(status) && {
      async replace(sealed: Uint8Array) {
        artifact.ticket = Buffer.from(sealed);
        const filter: Filter<TransactionDocument> = { _id, status: { $in: replaceableStates } };
        const replaced = new Binary(toBinary(OperationSchema, operation));
        return (await transactions.updateOne(filter, { $set: { operation: replaced } })).matchedCount === 1;
      },
    }),
  };
}

function artifactOf({ kind }: Operation) {
  return kind.case === 'updateApp' || kind.case === 'updateFirmware' ? kind.value.artifact : undefined;
}
