/**
 * Queries and where their first hit must lead, written before the search. `none` means no hit at all; `first` is the
 * beginning of the first hit's address; `same` is a query that must give the same hits.
 */
export interface SearchQuery {
  readonly query: string;
  readonly first?: string;
  readonly none?: true;
  readonly same?: string;
}

export const queries: readonly SearchQuery[] = [
  { query: '存在しない語', none: true },
  { query: 'zzzz', none: true },
  { query: 'トークン冷蔵庫', none: true },
  { query: 'ｱｯﾌﾟﾛｰﾄﾞ', same: 'アップロード' },
  { query: 'ＡＰＩ認証', same: 'api認証' },
  { query: 'Ｎｏｔｉｆｙ－ｂａｔｔｅｒｙ', same: 'notify-battery' },
  { query: 'API 認証', first: '/docs/introduction/authentication' },
  { query: '概要', first: '/docs/introduction/about' },
  { query: 'チュートリアル', first: '/docs/introduction/tutorial' },
  { query: '利用準備', first: '/docs/introduction/preparation' },
  { query: 'スコープ', first: '/docs/introduction/authentication' },
  { query: 'アクセストークン', first: '/docs/introduction/authentication' },
  { query: 'notify-battery', first: '/apis/v1/cws_notification#notify-battery' },
  {
    query: 'notify-battery-percentage-changed',
    first: '/apis/v1/cws_notification#notify-battery-percentage-changed',
  },
  { query: 'notify-location', first: '/apis/v1/cws_notification#notify-location' },
  { query: '位置情', first: '/apis/v1/cws_notification#notify-location' },
  { query: '位置情報', first: '/apis/v1/cws_notification#notify-location' },
  { query: 'notify-volume', first: '/apis/v1/cws_notification#notify-volume' },
  { query: 'notify-custom-data', first: '/apis/v1/cws_notification#notify-custom-data' },
  { query: 'notify-app-status', first: '/apis/v1/cws_notification#notify-app-status' },
  { query: 'put-v1-applications-devices-commands', first: '/apis/v1/' },
  { query: 'patch-v1-applications', first: '/apis/v1/cws_api#patch-v1-applications' },
  { query: 'get-v1-applications', first: '/apis/v1/cws_api#get-v1-applications' },
  { query: 'アプリケーション設定の更新', first: '/apis/v1/cws_api#patch-v1-applications' },
  { query: 'アプリケーション設定の取得', first: '/apis/v1/cws_api#get-v1-applications' },
  { query: '請求', first: '/apis/v1/cws_api' },
  { query: 'Bluetooth', first: '/apis/v1/' },
  { query: 'transactionId', first: '/apis/v1/' },
  { query: 'batteryPercentage', first: '/apis/v1/' },
  { query: 'authenticationKey', first: '/apis/v1/cws_api#' },
  { query: 'soraRecGetMultiPresignedUrl', first: '/apis/v1/' },
  { query: 'Idempotency-Key', first: '/' },
  { query: 'battery percentage', first: '/apis/v1/' },
  { query: 'スコープ トークン', first: '/docs/introduction/authentication' },
  { query: 'webhook-id', first: '/' },
];
