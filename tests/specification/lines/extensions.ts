import { type Line, lines } from './line.ts';

/** What the extensions promise beyond the specification: gateway/openapi/cws_extension.yaml. */
export const extensionLines: readonly Line[] = [
  ...lines(
    'ext/contract',
    'the contract',
    `
    document: a document of its own; the specified calls are not changed
    refusals: token, scope, developer, ownership, unknown methods and limits are judged as for the specified calls
    `,
  ),
  ...lines(
    'ext/catalogue',
    'the catalogue',
    `
    event-types: each type of callback with its setting, its JSON Schema and its examples, as cws_notification.yaml has them
    documents: the four contract documents as YAML and JSON without a token, with ETag
    documents-limit: one address gets them at most 20 times a second
    `,
  ),
];
