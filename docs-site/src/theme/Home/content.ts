import type { IconName } from '../Icon';

interface Way {
  readonly icon: IconName;
  readonly title: string;
  readonly href: string;
  readonly text: string;
  readonly more: string;
}

const ways: readonly Way[] = [
  {
    icon: 'book',
    title: '導入ガイド',
    href: '/docs/introduction/about',
    text: '仕組みと用語、利用準備、API 認証を順に説明します。はじめての方はこちらから。',
    more: '概要を読む',
  },
  {
    icon: 'code',
    title: 'API リファレンス',
    href: '/apis/v1/cws_api',
    text: 'すべての呼び出しについて、スコープ、項目、上限、エラーの条件と例を掲載しています。',
    more: '呼び出しを調べる',
  },
  {
    icon: 'webhook',
    title: '通知 API リファレンス',
    href: '/apis/v1/cws_notification',
    text: '操作の結果とデバイスの状態を届ける通知 (コールバック) の、項目と例を掲載しています。',
    more: '通知を調べる',
  },
];

/** Texts of the home page and of its Markdown version. */
export const home = {
  name: 'ホーム',
  description:
    'ウェアラブルヘッドセットを管理するクラウド API の開発者向けガイドです。認証から通知の検証まで、動くサンプルで説明します。',
  title: 'ヘッドセットを、あなたのサーバーから動かす。',
  lead: '設定、更新、コマンド、遠隔支援。現場のウェアラブルヘッドセットを HTTP API で管理し、結果を通知 (コールバック) で受け取ります。',
  waysTitle: '目的から探す',
  ways,
  stepsTitle: '操作は 3 つの段階で進みます',
  steps: [
    {
      title: 'トークンを取得する',
      text: 'クライアント ID とシークレットで、アクセストークンを取得します。',
      href: '/docs/introduction/authentication',
    },
    {
      title: '操作を呼び出す',
      text: '呼び出しは transactionId を返します。デバイスがオフラインでも受け付けます。',
      href: '/docs/introduction/tutorial',
    },
    {
      title: '結果を受け取る',
      text: '結果は通知で届きます。署名を検証してから使います。',
      href: '/apis/v1/cws_notification',
    },
  ],
} as const;
