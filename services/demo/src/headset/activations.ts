import {
  type CurrentActivation,
  type Offer,
  type Report,
  UrlRefusal,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeviceState } from './content.ts';
import type { Device } from './device.ts';
import type { Journal } from './journal.ts';
import type { Outbox, ReportBody, ReportDetails } from './outbox.ts';
import { inventory, inventoryChanged } from './results.ts';
import { type Activation, type ActivationChange, noActivation, type PendingUpload } from './stored-types.ts';

/** A report that an activation change causes. */
interface Draft {
  readonly body: ReportBody;
  readonly details: ReportDetails;
}

/** An activation change and the reports that it causes. */
export interface ChangeWithReports {
  readonly change: ActivationChange;
  readonly drafts: readonly Draft[];
}

/** Whether the data of the stored application must be erased before `applicationId` becomes active. */
export function mustErase(stored: Activation, applicationId: string): boolean {
  return stored.applicationId !== '' && stored.applicationId !== applicationId;
}

/**
 * Returns the activation change of a finished `activate`, `deactivate` or `reset` (protocol page, "Activations" and
 * "Reset"). Returns undefined for other operations and for operations of an earlier activation.
 */
export function changeByTransaction(
  offer: Offer,
  journal: Journal,
  state: DeviceState,
): ChangeWithReports | undefined {
  const kind = offer.operation?.kind;
  const epoch = Number(offer.activationEpoch);
  if (kind?.case === 'reset') return changeByReset(journal, epoch);
  if (epoch < journal.activationEpoch) return undefined;
  if (kind?.case === 'deactivate') return changeTo(noActivation, epoch, journal, state);
  if (kind?.case !== 'activate') return undefined;
  const { applicationId, clientId, clientSecret } = kind.value;
  const stored = journal.activation;
  const sinceEpoch = stored.applicationId === applicationId ? stored.sinceEpoch : epoch;
  return changeTo({ applicationId, clientId, clientSecret, sinceEpoch }, epoch, journal, state);
}

/** Returns the change to the activation in `welcome`; undefined if that activation is known or older. */
export function changeByWelcome(
  current: CurrentActivation,
  journal: Journal,
  state: DeviceState,
): ChangeWithReports | undefined {
  const { applicationId, clientId, clientSecret } = current;
  const epoch = Number(current.epoch);
  if (epoch < journal.activationEpoch) return undefined;
  const sinceEpoch = applicationId === '' ? 0 : Number(current.sinceEpoch);
  const next = { applicationId, clientId, clientSecret, sinceEpoch };
  const stored = journal.activation;
  const same = (Object.keys(next) as (keyof Activation)[]).every((key) => next[key] === stored[key]);
  if (same && epoch <= journal.takenEpoch) return undefined;
  return changeTo(next, epoch, journal, state);
}

/**
 * Returns the change to an activation. The uploads of the former application fail. Adds a snapshot if the application
 * is new, or was deactivated in between. `state`: the headset's state after the erasure.
 */
function changeTo(
  activation: Activation,
  epoch: number,
  journal: Journal,
  state: DeviceState,
): ChangeWithReports {
  const stored = journal.activation;
  const other = stored.applicationId !== activation.applicationId;
  const ended = other ? [...journal.uploads.values()] : [];
  const drafts = ended.map(failedUpload);
  const isNew = other || activation.sinceEpoch > stored.sinceEpoch;
  if (activation.applicationId !== '' && isNew) {
    const details = { activationEpoch: epoch, snapshot: true };
    drafts.push({ body: condition(state), details }, { body: inventory(state), details });
  }
  return { change: { activation, epoch, endedUploads: ended.map(({ id }) => id) }, drafts };
}

/** Returns the change by a reset: all uploads fail because their files are deleted; the activation stays. */
function changeByReset(journal: Journal, epoch: number): ChangeWithReports {
  const ended = [...journal.uploads.values()];
  return {
    change: { activation: journal.activation, epoch, endedUploads: ended.map(({ id }) => id) },
    drafts: ended.map(failedUpload),
  };
}

function failedUpload({ file, sizeBytes, epoch }: PendingUpload): Draft {
  return {
    body: {
      case: 'fileUpload',
      value: { file, sizeBytes: BigInt(sizeBytes), failure: UrlRefusal.UPLOAD_FAILED },
    },
    details: { activationEpoch: epoch },
  };
}

/** A report with all known state of the headset. */
function condition({ condition: { location, ...fields } }: DeviceState): ReportBody {
  return { case: 'stateChange', value: { ...fields, ...(location && { location: { ...location } }) } };
}

/** Assigns the next report ids to the reports of a change. */
export function reportsOf(change: ChangeWithReports | undefined, outbox: Outbox): Report[] {
  return (change?.drafts ?? []).map(({ body, details }, index) => outbox.draft(body, index, details));
}

/**
 * Applies the activation in `welcome`. The erasure comes first. Then the activation and its reports are stored in
 * one step.
 */
export function applyWelcomeActivation(
  current: CurrentActivation | undefined,
  parts: { journal: Journal; device: Device; outbox: Outbox },
  erased: () => void,
): void {
  const { journal, device, outbox } = parts;
  if (!current || !changeByWelcome(current, journal, device.state)) return;
  // If the process dies after the erasure, the former activation is still stored and the next start erases again.
  const before = device.state;
  if (mustErase(journal.activation, current.applicationId)) {
    device.changeContent(device.withoutApplicationData());
    erased();
  }
  const change = changeByWelcome(current, journal, device.state);
  if (!change) return;
  const drafts = [...change.drafts];
  // A snapshot contains the inventory. Without a snapshot, report what the erasure changed.
  if (drafts.every(({ body }) => body.case !== 'inventory') && inventoryChanged(before, device.state)) {
    drafts.push({ body: inventory(device.state), details: { activationEpoch: change.change.epoch } });
  }
  const reports = reportsOf({ ...change, drafts }, outbox);
  journal.activated(change.change, reports);
  outbox.queue(reports);
}
