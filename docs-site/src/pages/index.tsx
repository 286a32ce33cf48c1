import type { ReactElement } from 'react';
import { PageHead } from '../theme/PageHead';

export default function Home(): ReactElement {
  return (
    <main>
      <h1>Headset Cloud</h1>
    </main>
  );
}

export function Head(): ReactElement {
  return <PageHead title="ホーム" description="ウェアラブルヘッドセットを管理するクラウド API の開発者向けガイドです。" route="/" />;
}
