import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type Offer,
  OfferSchema,
  type Report,
  ReportSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Activation, ActivationChange, HeldState, Outcome, PendingUpload } from './stored-types.ts';

/**
 * One line of the journal. Protobuf messages are base64. `boot`: the process has started. `numbered`: the first welcome
 * has made the provisional report ids final (`finalizeReportIds`).
 */
export type Entry =
  | { k: 'offer'; offer: string }
  | { k: 'start'; id: number }
  | { k: 'drop'; id: number }
  | { k: 'done'; id: number; outcome: Outcome; reports: string[]; change?: ActivationChange }
  | { k: 'activation'; change: ActivationChange; reports: string[] }
  | { k: 'report'; report: string }
  | { k: 'ack'; id: number }
  | { k: 'boot' }
  | { k: 'numbered'; shift: number }
  | { k: 'epoch'; epoch: number }
  | { k: 'upload'; upload: PendingUpload }
  | { k: 'uploaded'; id: number; report: string }
  | {
      k: 'snapshot';
      lastReportId: number;
      numberedUpTo?: number;
      epoch: number;
      /** Absent in journals of 0.1.0. */
      taken?: number;
      activation: Activation;
      held: SnapshotHeld[];
      outcomes: [number, Outcome][];
      reports: string[];
      uploads?: PendingUpload[];
      lastUploadId?: number;
    };

interface SnapshotHeld {
  offer: string;
  state: HeldState;
  resultReportId: number;
}

export const encodeOffer = (offer: Offer) => encode(toBinary(OfferSchema, offer));
export const decodeOffer = (text: string) => fromBinary(OfferSchema, decode(text));
export const encodeReport = (report: Report) => encode(toBinary(ReportSchema, report));
export const decodeReport = (text: string) => fromBinary(ReportSchema, decode(text));

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function decode(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}
