import { ja } from '../../strings/ja';
import type { PageLink } from '../../types';

/** What the top navigation, the mobile menu and the footer lead to. */
export const guideLinks: readonly PageLink[] = [
  { label: '概要', href: '/docs/introduction/about' },
  { label: '利用の準備', href: '/docs/introduction/preparation' },
  { label: 'API 認証', href: '/docs/introduction/authentication' },
  { label: 'チュートリアル', href: '/docs/introduction/tutorial' },
  { label: '遠隔支援の利用', href: '/docs/introduction/sora' },
];

export const apiLinks: readonly PageLink[] = [
  { label: ja.apis.cws_api, href: '/apis/v1/cws_api' },
  { label: ja.apis.cws_notification, href: '/apis/v1/cws_notification' },
  { label: ja.apis.cws_presigned_url, href: '/apis/v1/cws_presigned_url' },
];

export const informationLink: PageLink = { label: ja.nav.information, href: '/information' };

export const isBelow = (path: string, section: string): boolean =>
  path === section || path.startsWith(`${section}/`);
