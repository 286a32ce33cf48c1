import type { SearchRecord, SidebarCategory, TocItem } from '../types';

/** A JSON value. Numbers that JavaScript cannot reproduce (`1.0`, over 2^53) are `JSON.rawJSON` (build/numerals.ts). */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Schema = boolean | Readonly<Record<string, unknown>>;

/** An OpenAPI 3.1 document, parsed, validated and bundled. Only commonly used members have types. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary?: string;
    readonly description?: string;
  };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface ApiSource {
  readonly name: string;
  readonly route: string;
  readonly document: OpenApiDocument;
}

export interface ApiInput extends ApiSource {
  readonly name: 'cws_api' | 'cws_notification' | 'cws_presigned_url' | 'cws_extension';
  /** The other documents, for links between calls and callbacks. */
  readonly others: readonly ApiSource[];
  readonly highlight: (code: string, language: 'bash' | 'js' | 'python' | 'json' | 'http') => string;
}

export interface ApiPage {
  readonly title: string;
  readonly description: string;
  readonly toc: readonly TocItem[];
  readonly sidebar: readonly SidebarCategory[];
  readonly search: readonly SearchRecord[];
  /** Markdown version of the page. */
  readonly text: string;
}

/** A limit, enum, default or other fact of a value. `values` are shown as code. */
export interface Fact {
  readonly label: string;
  readonly values: readonly string[];
}

/** Description of a value: a schema with resolved references and merged `allOf`. */
export interface Shape {
  readonly type: string;
  readonly title?: string;
  readonly description?: string;
  readonly deprecated: boolean;
  readonly readOnly: boolean;
  readonly writeOnly: boolean;
  readonly facts: readonly Fact[];
  /** Example of a scalar, from the document or generated. */
  readonly example?: Json;
  readonly fields: readonly Field[];
  /** True if no fields other than the named ones are allowed. */
  readonly closed: boolean;
  /** Shape of the elements of an array. */
  readonly item?: Shape;
  readonly choices: readonly Choice[];
  /** Set at the end of a recursive schema: anchor and name of the field that it repeats. */
  readonly same?: { readonly anchor: string; readonly name: string };
}

export interface Choice {
  readonly kind: 'oneOf' | 'anyOf';
  readonly discriminator?: string;
  readonly variants: readonly { readonly label: string; readonly anchor: string; readonly shape: Shape }[];
}

export interface Field {
  readonly name: string;
  readonly anchor: string;
  readonly required: boolean;
  readonly shape: Shape;
}

export interface Example {
  readonly name: string;
  readonly value: Json;
  /** True if the document has no example, so it was generated from the schema. */
  readonly generated: boolean;
}

export interface Body {
  readonly mediaType: string;
  /** Anchor of the request or status; further media types have separate anchors. */
  readonly anchor: string;
  readonly shape: Shape;
  readonly examples: readonly Example[];
}

export interface Header {
  readonly name: string;
  readonly required: boolean;
  /** Anchor of the shared header; undefined if the header is described here. */
  readonly shared?: string;
  readonly field: Field;
}

export interface Answer {
  readonly status: string;
  readonly anchor: string;
  readonly description: string;
  readonly headers: readonly Header[];
  readonly bodies: readonly Body[];
  readonly next: readonly { readonly operationId: string; readonly description?: string }[];
}

export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

export interface Parameter {
  readonly place: ParameterPlace;
  readonly field: Field;
  readonly example: Json | undefined;
}

export interface Operation {
  readonly id: string;
  readonly kind: 'call' | 'callback';
  readonly method: string;
  /** Path of a call, or name of a callback. */
  readonly path: string;
  readonly tag: string | undefined;
  readonly summary: string;
  readonly description: string;
  readonly deprecated: boolean;
  /** Security schemes with their scopes. */
  readonly security: readonly { readonly scheme: string; readonly scopes: readonly string[] }[];
  readonly bodyLimit: number | undefined;
  readonly parameters: readonly Parameter[];
  readonly request:
    | { readonly required: boolean; readonly description: string; readonly bodies: readonly Body[] }
    | undefined;
  readonly answers: readonly Answer[];
}
