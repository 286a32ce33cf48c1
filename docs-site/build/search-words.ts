import type { SearchRecord } from '../src/types.ts';

/**
 * Words that readers use for what a title names differently: each is found by its title. Words that mean the same
 * everywhere stand in `src/search/synonyms.ts`.
 */
const words: readonly (readonly [title: RegExp, other: string])[] = [
  [/位置/, '位置情報 GPS'],
  [/電池|バッテリー|充電/, '電池 バッテリー'],
  [/装着/, '着用 着脱'],
  [/音量/, 'ボリューム'],
  [/電波|ネットワーク/, '通信 回線'],
  [/利用の準備/, '利用準備 初期設定'],
  [/遠隔支援/, 'リモートサポート ビデオ通話'],
  [/コールバック|通知/, 'コールバック webhook ウェブフック'],
  [/署名/, 'シグネチャ HMAC'],
  [/初期化/, 'リセット'],
  [/^API 認証/, 'OAuth ログイン'],
  [/^コマンドの実行/, 'アプリ 起動 呼び出し'],
  [/^ソフトウェアのアップロード/, 'APK apk'],
  [/^トランザクションの一覧/, 'ページング ページネーション'],
  [/^利用量と請求/, '請求額 料金 課金'],
  [/^安全に再試行する/, '安全に繰り返す Idempotency-Key 冪等 冪等性 idempotent idempotency 二重実行'],
  [/^キーを入れ替える/, '認証キー 更新 ローテーション'],
  [/^同じ通知が/, '重複 二重'],
  [/^通知を検証する/, '署名 検証'],
  [/^通知に応答する/, 'タイムアウト 届かない'],
  [/^アクセストークンの取得/, 'トークン'],
  [/^エラーの読み方/, 'エラーコード ステータスコード 400 401 403 404 405 409 413 422 500 503'],
];

export function withOtherWords(record: SearchRecord): SearchRecord {
  const other = words.filter(([title]) => title.test(record.title)).map(([, text]) => text);
  return other.length === 0 ? record : { ...record, words: [record.words ?? '', ...other].join(' ').trim() };
}
