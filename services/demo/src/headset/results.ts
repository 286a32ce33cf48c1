import { BluetoothMode, type Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Behaviour } from './behaviour.ts';
import type { DeviceState } from './content.ts';
import type { Device } from './device.ts';
import type { ReportBody } from './outbox.ts';
import type { Held, Outcome } from './stored-types.ts';

/** The report of a transaction's end: `revoked` or `result`. */
export function endReport(id: number, outcome: Outcome): ReportBody {
  const transactionId = BigInt(id);
  if (outcome.revoked) return { case: 'revoked', value: { transactionId } };
  const { success, message, connectivity: found } = outcome;
  const connectivity = found && { ...found, devices: [...found.devices], networks: [...found.networks] };
  return {
    case: 'result',
    value: { transactionId, success, message, ...(connectivity && { connectivity }) },
  };
}

/** The report of the installed software. */
export function inventory(state: DeviceState): ReportBody {
  const { firmwareVersion, apps, languages } = state;
  return { case: 'inventory', value: { firmwareVersion, apps: [...apps], languages: [...languages] } };
}

/** Whether the inventories of two states differ. */
export function inventoryChanged(before: DeviceState, after: DeviceState): boolean {
  const text = ({ firmwareVersion, apps, languages }: DeviceState) =>
    JSON.stringify([firmwareVersion, apps, languages]);
  return before !== after && text(before) !== text(after);
}

/**
 * The report of Bluetooth devices that connected or disconnected between two states; undefined if there are none.
 * `transactionId`: the pairing operation that caused the change, or 0.
 */
export function connectionNotice(
  before: DeviceState,
  after: DeviceState,
  transactionId: number,
): ReportBody | undefined {
  const was = new Map(before.bluetoothDevices.map(({ address, connected }) => [address, connected]));
  const devices = after.bluetoothDevices.flatMap(({ address, connected, paired, name, alias }) =>
    connected === (was.get(address) ?? false)
      ? []
      : [
          {
            mode: connected ? BluetoothMode.CONNECTED : BluetoothMode.DISCONNECTED,
            ...{ registered: paired, name, alias, address },
          },
        ],
  );
  if (devices.length === 0) return undefined;
  return {
    case: 'bluetoothConnection',
    value: { transactionId: BigInt(transactionId), statusCode: 200, message: 'changed', devices },
  };
}

/**
 * The reports of a transaction's end, in order. A changed inventory comes before the result, so that a reader of the
 * result already has the inventory. The called app's own answer and Bluetooth connections come after the result.
 */
export function resultReports(end: {
  readonly id: number;
  readonly held: Held;
  readonly outcome: Outcome;
  readonly behaviour: Behaviour;
  readonly device: Device;
  /** The headset's state before the transaction. */
  readonly before: DeviceState;
  /** Reports of an activation change; they come first. */
  readonly first: readonly Report[];
  /** Builds a report with the next id plus `idOffset`. */
  draft(body: ReportBody, idOffset: number): Report;
}): Report[] {
  const { id, held, outcome, behaviour, first } = end;
  const bodies: ReportBody[] = [];
  const kind = held.offer.operation?.kind.case;
  const { state } = end.device;
  // A snapshot contains the inventory. After a reset, the next hello contains it.
  const isKnown = kind === 'reset' || first.some(({ body }) => body.case === 'inventory');
  if (!isKnown && inventoryChanged(end.before, state)) bodies.push(inventory(state));
  bodies.push(endReport(id, outcome));
  if (behaviour.appAnswer && outcome.success && kind === 'command') {
    const { appAnswerText: message, appAnswerData: customData } = behaviour;
    const transactionId = BigInt(id);
    bodies.push({ case: 'appAnswer', value: { transactionId, success: true, message, customData } });
  }
  const isPairing = kind === 'addPairing' || kind === 'changePairing' || kind === 'deletePairing';
  const notice = connectionNotice(end.before, state, isPairing ? id : 0);
  // Do not report devices that an erasure disconnects: their names belong to the former application.
  const erases = kind === 'reset' || kind === 'activate' || kind === 'deactivate';
  if (notice && !erases) bodies.push(notice);
  return [...first, ...bodies.map((body, index) => end.draft(body, first.length + index))];
}
