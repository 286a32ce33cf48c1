export interface SiteMetadata {
  readonly siteName: string;
  readonly providerName: string;
  readonly siteUrl: string;
  readonly announcementsUrl: string;
  readonly inquiryUrl: string;
  readonly mailingUrl: string;
}

/** Constant of the bundle (gatsby-node.mjs): needs no request and cannot be out of date in a cache. */
declare const __SITE__: SiteMetadata;

const site = __SITE__;

/** Settings of the build that pages show. */
export const useSite = (): SiteMetadata => site;
