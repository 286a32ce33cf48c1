import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { Picture } from '../theme/Home/Picture';
import { Icon, type IconName } from '../theme/Icon';
import { PageHead } from '../theme/PageHead';
import { useSite } from '../theme/useSite';

const description =
  'ウェアラブルヘッドセットを管理するクラウド API の開発者向けガイドです。認証から通知の検証まで、動くサンプルで説明します。';

const ways: readonly { icon: IconName; title: string; href: string; text: string; more: string }[] = [
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

const steps = [
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
];

export default function Home(): ReactElement {
  const { siteName } = useSite();
  return (
    <main id="main" className="home" tabIndex={-1}>
      <section className="hero">
        <div className="hero__inner">
          <div className="hero__text">
            <p className="hero__name">{siteName}</p>
            <h1 className="hero__title">ヘッドセットを、あなたのサーバーから動かす。</h1>
            <p className="hero__lead">
              設定、更新、コマンド、遠隔支援。現場のウェアラブルヘッドセットを HTTP API で管理し、結果を通知
              (コールバック) で受け取ります。
            </p>
            <div className="hero__buttons">
              <Link className="button" to="/docs/introduction/tutorial">
                チュートリアルを始める
              </Link>
              <Link className="button button--plain" to="/apis/v1/cws_api">
                API リファレンス
              </Link>
            </div>
          </div>
          <Picture />
        </div>
      </section>
      <section className="home__section" aria-labelledby="ways">
        <h2 id="ways">目的から探す</h2>
        <div className="ways">
          {ways.map(({ icon, title, href, text, more }) => (
            <article key={href} className="card way">
              <Icon name={icon} className="way__icon" />
              <h3 className="card__title">
                <Link className="card__link" to={href}>
                  {title}
                </Link>
              </h3>
              <p className="card__text">{text}</p>
              <p className="way__more" aria-hidden="true">
                {more} <Icon name="chevron" />
              </p>
            </article>
          ))}
        </div>
      </section>
      <section className="home__section" aria-labelledby="flow">
        <h2 id="flow">操作は 3 つの段階で進みます</h2>
        <ol className="flow">
          {steps.map(({ title, text, href }) => (
            <li key={href} className="flow__step">
              <h3>
                <Link to={href}>{title}</Link>
              </h3>
              <p>{text}</p>
            </li>
          ))}
        </ol>
      </section>
    </main>
  );
}

export function Head(): ReactElement {
  return <PageHead title="ホーム" description={description} route="/" />;
}
