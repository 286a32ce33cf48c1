import { graphql, useStaticQuery } from 'gatsby';

export interface SiteMetadata {
  readonly siteName: string;
  readonly providerName: string;
  readonly siteUrl: string;
  readonly announcementsUrl: string;
  readonly inquiryUrl: string;
  readonly mailingUrl: string;
}

/** The build's settings that pages show. */
export function useSite(): SiteMetadata {
  const { site } = useStaticQuery<{ site: { siteMetadata: SiteMetadata } }>(graphql`
    query SiteSettings {
      site {
        siteMetadata {
          siteName
          providerName
          siteUrl
          announcementsUrl
          inquiryUrl
          mailingUrl
        }
      }
    }
  `);
  return site.siteMetadata;
}
