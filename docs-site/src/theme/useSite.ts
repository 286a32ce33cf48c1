export interface SiteMetadata {
  readonly siteName: string;
  readonly providerName: string;
  readonly siteUrl: string;
  readonly announcementsUrl: string;
  readonly inquiryUrl: string;
  readonly mailingUrl: string;
}

/** A constant of the bundle (gatsby-node.mjs): no page asks for it, and no cache holds another one. */
declare const __SITE__: SiteMetadata;

const site = __SITE__;

/** The build's settings that pages show. */
export const useSite = (): SiteMetadata => site;
