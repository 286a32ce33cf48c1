import { type Line, lines } from './line.ts';

/** Promises of the documentation site's specification. */
export const siteLines: readonly Line[] = lines(
  'site',
  'Documentation site',
  `
  home: / is the home page
  name: the site's name is that of a guide to the provider's service
  docs: /docs and the five introduction pages, with one shared sidebar
  api-reference: /apis/v1/cws_api, generated from the main API document
  notification-reference: /apis/v1/cws_notification, generated from the notification document
  presigned-reference: /apis/v1/cws_presigned_url, titled 'User APIs requirements'
  information: /information shows a markdown document fetched from a URL
  only-call: the announcements fetch is the site's only call
  not-found: any other path shows a not-found page
  html-suffix: .html and /index.html are treated as the path without the suffix
  loading: spinner while loading, warning and reload on failure, Retry
  error-pages: 'An error occurred' and 'This page crashed.', each with try again
  navigation: two dropdowns, announcements link, mobile menu at 996 pixels, language and version dropdowns
  colour: light and dark, light by default, the system preference is not respected; primary colour #1890ff
  skip-and-top: skip-to-content link and back-to-top button
  announcement-bar: a dismissible announcement bar
  footer: inquiry page, sign-up page, copyright line for 2025
  sidebar: can be hidden; categories are not auto-collapsed
  contents: the table of contents shows heading levels 2 to 3
  version-kept: the chosen docs version is kept in local storage
  broken-links: broken links fail the build
  locale: the only locale is ja
  prefetch: skipped on slow connections and in data-saver mode
  unlisted: unlisted pages are excluded from search and navigation, visible only through the direct link
  draft: draft pages are not in the production build
  version-banners: documentation versions are latest, unmaintained or unreleased, each marked as such
  code-blocks: code can be copied and its lines wrapped
  breadcrumbs: breadcrumbs lead from the home page to the page
  paginators: previous and next follow the sidebar
  search: a search slot
  announcement-variants: production, staging and development each have their announcements
  strings: strings for archive, author and tag pages, breadcrumbs, paginators, draft and unlisted pages, code blocks
  `,
);
