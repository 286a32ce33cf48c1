import { bodyRefOf, type JsonObject, readDocument } from './document.ts';
import { SchemaCompiler } from './validators.ts';

/** The callbacks that the notification document describes. */
export type CallbackName = 'transactionResult' | 'commandResult' | 'transactionCanceled';

/** What is wrong with a callback's body; empty when it is as documented. */
export type CallbackCheck = (name: CallbackName, body: unknown) => readonly string[];

/** Compiles cws_notification.yaml (decision 19): tests judge callbacks with it. */
export function callbackCheck(): CallbackCheck {
  const document = readDocument('cws_notification');
  const compiler = new SchemaCompiler('cws_notification', document);
  const validators = new Map(
    Object.entries(document['webhooks'] as Record<string, JsonObject>).map(([name, item]) => {
      const ref = bodyRefOf(document, name, (item['post'] as JsonObject)['requestBody']);
      if (ref === undefined) throw new Error(`${name} has no body`);
      return [name, compiler.ofReference(ref)];
    }),
  );
  return (name, body) => {
    const validate = validators.get(name);
    if (!validate) return [`no callback is named ${name}`];
    if (validate(body)) return [];
    return (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message}`);
  };
}
