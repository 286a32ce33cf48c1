import { ja } from '../../strings/ja';
import type { PageLink } from '../../types';

/** Links of the top navigation, the mobile menu and the footer. */
export const guideLinks: readonly PageLink[] = [
  { label: '概要', href: '/docs/introduction/about' },
  { label: '利用の準備', href: '/docs/introduction/preparation' },
  { label: 'API 認証', href: '/docs/introduction/authentication' },
  { label: 'チュートリアル', href: '/docs/introduction/tutorial' },
  { label: '遠隔支援の利用', href: '/docs/introduction/sora' },
  { label: 'イベントのフィード', href: '/docs/extension/events' },
  { label: '送信の記録と再送', href: '/docs/extension/deliveries' },
  { label: 'テスト通知', href: '/docs/extension/test-callbacks' },
  { label: '通知の種類と契約文書', href: '/docs/extension/event-types' },
  { label: 'デバイス状態の検索', href: '/docs/extension/device-statuses' },
  { label: 'hc コマンド', href: '/docs/extension/hc' },
];

export const apiLinks: readonly PageLink[] = [
  { label: ja.apis.cws_api, href: '/apis/v1/cws_api' },
  { label: ja.apis.cws_notification, href: '/apis/v1/cws_notification' },
  { label: ja.apis.cws_presigned_url, href: '/apis/v1/cws_presigned_url' },
  { label: ja.apis.cws_extension, href: '/apis/v1/cws_extension' },
];

export const informationLink: PageLink = { label: ja.nav.information, href: '/information' };

export const isBelow = (path: string, section: string): boolean =>
  path === section || path.startsWith(`${section}/`);
