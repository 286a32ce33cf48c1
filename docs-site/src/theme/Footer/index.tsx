import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import { useSite } from '../useSite';

export function Footer(): ReactElement {
  const { providerName } = useSite();
  return <footer className="footer">{ja.footer.copyright(providerName)}</footer>;
}
