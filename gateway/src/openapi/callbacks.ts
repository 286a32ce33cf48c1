import type { CallbackName } from '@headset-cloud/proto/callbacks.ts';
import { bodyRefOf, type DocumentName, type JsonObject, readDocument } from './document.ts';
import { SchemaCompiler } from './validators.ts';

export { type CallbackName, callbackNameOf } from '@headset-cloud/proto/callbacks.ts';

/** Returns the faults of a callback's body; empty if it matches the document. */
export type CallbackCheck = (name: CallbackName, body: unknown) => readonly string[];

/**
 * Compiles cws_notification.yaml (rule C19) and the notices of cws_extension.yaml, for tests that validate callbacks.
 */
export function callbackCheck(): CallbackCheck {
  const [specified, notices] = [webhookCheck('cws_notification'), webhookCheck('cws_extension')];
  const noticeNames = readDocument('cws_extension')['webhooks'] as JsonObject;
  return (name, body) => (name in noticeNames ? notices : specified)(name, body);
}

/** The endpoints that the integrator hosts (cws_presigned_url.yaml), named like their settings. */
export type SignedUrlSetting = 'soraRecGetPresignedUrl' | 'soraRecGetMultiPresignedUrl' | 'fileUploadGetUrl';

/** Compiles cws_presigned_url.yaml. The returned function returns the faults of a request for signed URLs. */
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
