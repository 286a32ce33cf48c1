/** Spellings of one word. The index and the query use the second. */
export const spellings: readonly (readonly [RegExp, string])[] = [
  [/チャンネル/g, 'チャネル'],
  [/べき等/g, '冪等'],
];

/**
 * Words that mean the same, in lower case: a query with one of them also finds the others. Each line is needed by a query
 * of `tests/unit/search-queries.ts`. Words for one section only stand in `build/search-words.ts`.
 */
export const synonyms: readonly (readonly string[])[] = [
  ['access token', 'アクセストークン'],
  ['error', 'エラー'],
  ['expired', '期限切れ'],
  ['list', '一覧'],
  ['pairing', 'ペアリング'],
  ['rate limit', 'レート制限', 'retry-after'],
  ['retry', 'リトライ', '再試行'],
  ['signature', '署名'],
  ['timeout', 'タイムアウト', '時間切れ'],
  ['token', 'トークン'],
  ['uninstall', 'アンインストール'],
];
