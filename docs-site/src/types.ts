/** Types of the data that the build passes to the pages; shared by build, browser and tests. */
export interface TocItem {
  readonly id: string;
  readonly text: string;
  readonly level: 2 | 3;
}

export interface SidebarLink {
  readonly label: string;
  /** A route, or `#id` for an anchor of the current page. */
  readonly href: string;
  readonly method?: string;
  readonly deprecated?: boolean;
}
export interface SidebarCategory {
  readonly label: string;
  readonly href?: string;
  readonly items: readonly SidebarLink[];
}

export interface PageLink {
  readonly label: string;
  readonly href: string;
}

export interface DocVersion {
  readonly name: string;
  readonly label: string;
  readonly state: 'latest' | 'unmaintained' | 'unreleased';
  /** Prefix of its routes: '' for the latest version, '/x' for others. */
  readonly prefix: string;
  /** Its routes, without the prefix. */
  readonly routes: readonly string[];
  /** Route of its main page. */
  readonly main: string;
}

/** A page whose document is a fragment: a guide or an API reference. */
export interface DocumentPage {
  readonly kind: 'guide' | 'api';
  readonly route: string;
  readonly title: string;
  readonly description: string;
  /** Address of the fragment, including the content hash. */
  readonly fragment: string;
  readonly toc: readonly TocItem[];
  readonly sidebar: readonly SidebarCategory[];
  readonly breadcrumbs: readonly { readonly label: string; readonly href?: string }[];
  readonly previous?: PageLink;
  readonly next?: PageLink;
  readonly unlisted?: true;
  readonly draft?: true;
  readonly version: string;
  /** Set only if there is more than one version. */
  readonly versions?: readonly DocVersion[];
}

/** One record of the search index. */
export interface SearchRecord {
  /** Route with anchor. */
  readonly href: string;
  readonly title: string;
  /** Titles of its parents, outermost first. */
  readonly path: readonly string[];
  readonly text: string;
  /** Technical names: method, path and id of a call. */
  readonly names?: string;
  /** Additional search words; never shown. */
  readonly words?: string;
  readonly kind: 'page' | 'heading' | 'operation' | 'notification' | 'field' | 'status';
}
