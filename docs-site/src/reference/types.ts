import type { SearchRecord, SidebarCategory, TocItem } from '../types';

/** An OpenAPI 3.1 document, parsed, validated and bundled; only what every user needs is typed here. */
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
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly webhooks?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface ApiInput {
  readonly name: 'cws_api' | 'cws_notification' | 'cws_presigned_url';
  readonly route: string;
  readonly document: OpenApiDocument;
  /** The other documents, to link a call with its callback and back. */
  readonly others: readonly {
    readonly name: string;
    readonly route: string;
    readonly document: OpenApiDocument;
  }[];
  readonly highlight: (code: string, language: 'bash' | 'js' | 'python' | 'json' | 'http') => string;
  /** Descriptions: safe HTML, raw HTML in them is text. `shift` lowers their headings, by 1 where nothing is said. */
  readonly markdown: (text: string, shift?: number) => string;
}

export interface ApiPage {
  readonly title: string;
  readonly description: string;
  readonly toc: readonly TocItem[];
  readonly sidebar: readonly SidebarCategory[];
  readonly search: readonly SearchRecord[];
  /** The `.md` twin. */
  readonly text: string;
}
