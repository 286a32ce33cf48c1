import { operationById, ResultForm } from './operations.ts';

/**
 * The callbacks that cws_notification.yaml describes, and the notices of cws_extension.yaml, with their operationId
 * there: the type of an event.
 */
export const callbackTypes = {
  transactionResult: 'notify-transaction-result',
  updateResult: 'notify-update-result',
  uninstallResult: 'notify-uninstall-result',
  commandResult: 'notify-command-result',
  transactionCanceled: 'notify-transaction-canceled',
  connectivityList: 'notify-connectivity-list',
  connectivityState: 'notify-connectivity-state',
  connectivityReset: 'notify-connectivity-reset',
  bluetoothPairing: 'notify-bluetooth-pairing',
  bluetoothConnection: 'notify-bluetooth-connection',
  customData: 'notify-custom-data',
  appStatus: 'notify-app-status',
  boot: 'notify-boot',
  wearingStatus: 'notify-device-wearing-status',
  batteryCharging: 'notify-battery-charging',
  networkConnectionStatus: 'notify-network-connection-status',
  batteryPercentageChanged: 'notify-battery-percentage-changed',
  location: 'notify-location',
  networkLevel: 'notify-network-level',
  volume: 'notify-volume',
  signal: 'notify-signal',
  bluetooth: 'notify-bluetooth',
  soraEvent: 'notify-sora-event',
  recording: 'notify-recording',
  fileUpload: 'notify-file-upload',
  destinationFailing: 'notify-destination-failing',
  destinationRecovered: 'notify-destination-recovered',
  deliveriesDead: 'notify-deliveries-dead',
} as const;

export type CallbackName = keyof typeof callbackTypes;
export type CallbackType = (typeof callbackTypes)[CallbackName];

/** Callbacks whose bodies name their own operationId, by that id. */
const named: ReadonlyMap<unknown, CallbackName> = new Map(
  Object.entries(callbackTypes).map(([name, type]) => [type, name as CallbackName]),
);

/** Results of operations with their own form. */
const byResultForm: ReadonlyMap<unknown, CallbackName> = new Map([
  [ResultForm.UPDATE, 'updateResult'],
  [ResultForm.UNINSTALL, 'uninstallResult'],
  [ResultForm.CONNECTIVITY_LIST, 'connectivityList'],
  [ResultForm.CONNECTIVITY_STATE, 'connectivityState'],
  [ResultForm.CONNECTIVITY_RESET, 'connectivityReset'],
  [ResultForm.BLUETOOTH_PAIRING, 'bluetoothPairing'],
]);

/** The kind of callback that a body is, by the fields that distinguish the forms. */
export function callbackNameOf(body: Readonly<Record<string, unknown>>): CallbackName {
  if ('process' in body) return 'commandResult';
  if ('channel' in body) return 'recording';
  const operationId = body['operationId'];
  if (typeof operationId !== 'string') return 'fileUpload';
  const own = named.get(operationId);
  if (own) return own;
  const type = body['notificationType'];
  if (type === 'processed' && String(body['message']).startsWith('The transaction was canceled')) {
    return 'transactionCanceled';
  }
  const result = byResultForm.get(operationById(operationId)?.resultForm);
  return result && (type !== 'accepted' || result === 'updateResult') ? result : 'transactionResult';
}
