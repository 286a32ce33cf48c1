/**
 * A query and its expected hits. `none`: no hits. `first`: beginning of the address of the first hit. `top`: beginning
 * of the address of one of the first three hits. `same`: another query with the same hits. `partial`: no hit matches
 * all words; default false.
 */
export interface SearchQuery {
  readonly query: string;
  readonly first?: string;
  readonly top?: string;
  readonly partial?: true;
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
  { query: 'ページング', first: '/apis/v1/cws_api#get-v1-applications-transactions' },
  { query: '請求額', first: '/apis/v1/cws_api#get-v1-applications-billing' },
  { query: '請求', first: '/docs/introduction/about#billing' },
  { query: 'Bluetooth', first: '/apis/v1/' },
  { query: 'transactionId', first: '/apis/v1/' },
  { query: 'batteryPercentage', first: '/apis/v1/' },
  { query: 'authenticationKey', first: '/apis/v1/cws_api#' },
  { query: 'soraRecGetMultiPresignedUrl', first: '/apis/v1/' },
  { query: 'Idempotency-Key', first: '/' },
  { query: 'battery percentage', first: '/apis/v1/' },
  { query: 'スコープ トークン', first: '/docs/introduction/authentication' },
  { query: 'webhook-id', first: '/' },
  // Compounds with and without particles, endings and sentences
  { query: 'コマンド実行', first: '/apis/v1/cws_api#put-v1-applications-devices-commands' },
  { query: 'コマンドの実行', first: '/apis/v1/cws_api#put-v1-applications-devices-commands' },
  { query: 'トークン取得', first: '/docs/introduction/' },
  { query: 'ファームウェア更新', first: '/apis/v1/cws_api#put-v1-applications-devices-firmware' },
  { query: '設定更新', first: '/apis/v1/cws_api#patch-v1-applications' },
  { query: '署名を検証したい', first: '/docs/introduction/preparation#verify' },
  { query: '通知が届かない', first: '/docs/introduction/tutorial#no-callback' },
  { query: 'エラーコード', first: '/docs/introduction/authentication#errors' },
  // Spelling
  { query: 'チャンネル', same: 'チャネル' },
  {
    query: 'チャンネル',
    first: '/docs/introduction/sora#channels',
    top: '/apis/v1/cws_api#post-v1-applications-channels',
  },
  { query: '受信サーバ', first: '/docs/introduction/tutorial#receiver' },
  { query: 'パスパラメーター', same: 'パスパラメータ' },
  { query: 'ファームウエア', same: 'ファームウェア' },
  // Synonyms
  { query: 'APK', first: '/apis/v1/cws_api#post-v1-applications-apps' },
  { query: 'APK アップロード', first: '/apis/v1/cws_api#post-v1-applications-apps' },
  { query: '冪等', first: '/docs/introduction/authentication#repeat' },
  { query: 'べき等', first: '/docs/introduction/authentication#repeat' },
  { query: 'idempotent', first: '/docs/introduction/authentication#repeat' },
  { query: 'Idempotency-Key', top: '/docs/introduction/authentication#repeat' },
  { query: 'タイムアウト', first: '/docs/introduction/preparation#answer' },
  { query: 'timeout', first: '/docs/introduction/preparation#answer' },
  { query: 'レート制限', first: '/docs/introduction/authentication#retry-after' },
  { query: 'rate limit', first: '/docs/introduction/authentication#retry-after' },
  { query: '重複', first: '/docs/introduction/preparation#duplicates' },
  { query: 'webhook-id 重複', first: '/docs/introduction/preparation#duplicates' },
  { query: '認証キー 入れ替え', first: '/docs/introduction/preparation#rotation' },
  { query: 'キーの更新', first: '/docs/introduction/preparation#rotation' },
  { query: 'アプリ 起動', first: '/apis/v1/cws_api#put-v1-applications-devices-commands' },
  { query: 'OAuth', first: '/docs/introduction/authentication' },
  // English words
  { query: 'token', first: '/docs/introduction/authentication#token' },
  { query: 'access token', first: '/docs/introduction/authentication#token' },
  { query: 'リトライ', first: '/docs/introduction/authentication#repeat' },
  { query: 'token expired', first: '/docs/introduction/authentication' },
  { query: 'error 403', first: '/docs/introduction/authentication#errors' },
  { query: '401', top: '/docs/introduction/authentication#errors' },
  { query: 'transactions list', first: '/apis/v1/cws_api#get-v1-applications-transactions' },
  { query: 'wifi', first: '/apis/v1/cws_api#put-v1-applications-devices-settings-wifi' },
  { query: 'Wi-Fi', same: 'wifi' },
  { query: 'status', first: '/apis/v1/cws_api#get-v1-applications-devices-status' },
  { query: 'uninstall', first: '/apis/v1/cws_api#delete-v1-applications-devices-package' },
  { query: 'アンインストール', first: '/apis/v1/cws_api#delete-v1-applications-devices-package' },
  { query: 'Bluetooth pairing', first: '/apis/v1/cws_api#post-v1-applications-bluetooth-device' },
  { query: 'Bluetooth ペアリング', first: '/apis/v1/cws_api#post-v1-applications-bluetooth-device' },
  { query: 'webhook signature', first: '/' },
  { query: '署名 検証', first: '/docs/introduction/preparation#verify' },
  // Calls of the extension: guide or reference as first hit, the guide among the first three
  { query: 'イベントのフィード', first: '/', top: '/docs/extension/events' },
  { query: '続きを読む cursor', first: '/docs/extension/' },
  { query: 'テスト通知', first: '/', top: '/docs/extension/test-callbacks' },
  { query: 'まとめて再送', first: '/docs/extension/deliveries#recover' },
  { query: '失敗の理由', first: '/docs/extension/deliveries#reasons' },
  { query: 'JSON Schema', first: '/', top: '/docs/extension/event-types' },
  { query: '契約文書', first: '/', top: '/docs/extension/event-types' },
  { query: 'デバイス状態の検索', first: '/', top: '/docs/extension/device-statuses' },
  // No record matches all words: hits match some words
  { query: '録画 冷蔵庫', first: '/', partial: true },
  { query: 'ランチャー 請求', first: '/apis/v1/cws_api#', partial: true },
  { query: 'トークンの冷蔵庫', none: true },
];
