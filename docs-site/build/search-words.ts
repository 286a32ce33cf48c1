import type { SearchRecord } from '../src/types.ts';

/** Words that readers use for what the texts name differently: found by title, searched as if they stood there. */
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
  [/認証/, 'OAuth ログイン'],
];

export function withOtherWords(record: SearchRecord): SearchRecord {
  const other = words.filter(([title]) => title.test(record.title)).map(([, text]) => text);
  return other.length === 0 ? record : { ...record, text: `${record.text}\n${other.join(' ')}` };
}
