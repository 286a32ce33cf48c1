import { operationById, ResultForm } from '@headset-cloud/proto/operations.ts';
import { bodyRefOf, type DocumentName, type JsonObject, readDocument } from './document.ts';
import { SchemaCompiler } from './validators.ts';

/** Callbacks with their own operationId, by that id. */
const byOperation = {
  'notify-bluetooth-connection': 'bluetoothConnection',
  'notify-custom-data': 'customData',
  'notify-app-status': 'appStatus',
  'notify-boot': 'boot',
  'notify-device-wearing-status': 'wearingStatus',
  'notify-battery-charging': 'batteryCharging',
  'notify-network-connection-status': 'networkConnectionStatus',
  'notify-battery-percentage-changed': 'batteryPercentageChanged',
  'notify-location': 'location',
  'notify-network-level': 'networkLevel',
  'notify-volume': 'volume',
  'notify-signal': 'signal',
  'notify-bluetooth': 'bluetooth',
  'notify-sora-event': 'soraEvent',
} as const;

/** Results of operations with their own form. */
const byResultForm = {
  [ResultForm.UPDATE]: 'updateResult',
  [ResultForm.UNINSTALL]: 'uninstallResult',
  [ResultForm.CONNECTIVITY_LIST]: 'connectivityList',
  [ResultForm.CONNECTIVITY_STATE]: 'connectivityState',
  [ResultForm.CONNECTIVITY_RESET]: 'connectivityReset',
  [ResultForm.BLUETOOTH_PAIRING]: 'bluetoothPairing',
} as const;

/** The callbacks that the notification document describes. */
export type CallbackName =
  | 'transactionResult'
  | 'commandResult'
  | 'transactionCanceled'
  | 'recording'
  | 'fileUpload'
  | (typeof byOperation)[keyof typeof byOperation]
  | (typeof byResultForm)[keyof typeof byResultForm];

/** Returns the faults of a callback's body; empty when it is as documented. */
export type CallbackCheck = (name: CallbackName, body: unknown) => readonly string[];

/** The kind of callback that a body is, by the fields that distinguish the forms. */
export function callbackNameOf(body: Readonly<Record<string, unknown>>): CallbackName {
  if ('process' in body) return 'commandResult';
  if ('channel' in body) return 'recording';
  const operationId = body['operationId'];
  if (typeof operationId !== 'string') return 'fileUpload';
  if (operationId in byOperation) return byOperation[operationId as keyof typeof byOperation];
  const type = body['notificationType'];
  if (type === 'processed' && String(body['message']).startsWith('The transaction was canceled')) {
    return 'transactionCanceled';
  }
  const own = byResultForm[operationById(operationId)?.resultForm as keyof typeof byResultForm];
  return own && (type !== 'accepted' || own === 'updateResult') ? own : 'transactionResult';
}

/** Compiles cws_notification.yaml (rule C19), with which tests validate callbacks. */
export function callbackCheck(): CallbackCheck {
  return webhookCheck('cws_notification');
}

/** The endpoints that the integrator hosts (cws_presigned_url.yaml), named as their settings. */
export type SignedUrlSetting = 'soraRecGetPresignedUrl' | 'soraRecGetMultiPresignedUrl' | 'fileUploadGetUrl';

/** Compiles cws_presigned_url.yaml: the check returns the faults of a request for signed URLs. */
export function signedUrlRequestCheck(): (setting: SignedUrlSetting, body: unknown) => readonly string[] {
  return webhookCheck('cws_presigned_url');
}

function webhookCheck(document: DocumentName): (name: string, body: unknown) => readonly string[] {
  const described = readDocument(document);
  const compiler = new SchemaCompiler(document, described);
  const validators = new Map(
    Object.entries(described['webhooks'] as Record<string, JsonObject>).map(([name, item]) => {
      const ref = bodyRefOf(described, name, (item['post'] as JsonObject)['requestBody']);
      if (ref === undefined) throw new Error(`${name} has no body`);
      return [name, compiler.ofReference(ref)];
    }),
  );
  return (name, body) => {
    const validate = validators.get(name);
    if (!validate) return [`nothing is named ${name}`];
    if (validate(body)) return [];
    return (validate.errors ?? []).map((e) => `${name}${e.instancePath} ${e.message}`);
  };
}
