import type { ReactElement } from 'react';
import { ja } from '../strings/ja';
import { PageHead } from '../theme/PageHead';

export default function NotFound(): ReactElement {
  return (
    <main>
      <h1>{ja.notFound.title}</h1>
      <p>{ja.notFound.text}</p>
      <p>{ja.notFound.report}</p>
    </main>
  );
}

export function Head(): ReactElement {
  return <PageHead title={ja.notFound.title} description={ja.notFound.text} unlisted />;
}
