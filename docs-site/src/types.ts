/** What the build hands to the pages. Types only: build, browser and tests share them. */
export interface TocItem {
  readonly id: string;
  readonly text: string;
  readonly level: 2 | 3;
}

export interface SidebarLink {
  readonly label: string;
  /** A route, or `#id` on the page itself. */
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
  /** Where its pages live: '' for the latest, '/x' before the route for others. */
  readonly prefix: string;
  /** The routes it has, without the prefix. */
  readonly routes: readonly string[];
  /** Where it begins. */
  readonly main: string;
}

/** A page whose document is a fragment: a guide or an API reference. */
export interface DocumentPage {
  readonly kind: 'guide' | 'api';
  readonly route: string;
  readonly title: string;
  readonly description: string;
  /** Address of the fragment, with its hash. */
  readonly fragment: string;
  readonly toc: readonly TocItem[];
  readonly sidebar: readonly SidebarCategory[];
  readonly breadcrumbs: readonly { readonly label: string; readonly href?: string }[];
  readonly previous?: PageLink;
  readonly next?: PageLink;
  readonly unlisted?: true;
  readonly draft?: true;
  readonly version: string;
  /** Only where there is more than the site's own one. */
  readonly versions?: readonly DocVersion[];
}

/** One thing that search finds. */
export interface SearchRecord {
  /** Route with anchor. */
  readonly href: string;
  readonly title: string;
  /** Titles of what it stands in, outermost first. */
  readonly path: readonly string[];
  readonly text: string;
  /** Names for programs: a call's method, path and id. */
  readonly names?: string;
  /** Other words of readers for it, never shown. */
  readonly words?: string;
  readonly kind: 'page' | 'heading' | 'operation' | 'notification' | 'field' | 'status';
}
