import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { ja } from '../../strings/ja';
import type { PageLink } from '../../types';
import { Icon } from '../Icon';
import { Logo } from '../Logo';
import { apiLinks, guideLinks, informationLink } from '../Navbar/items';
import { useSite } from '../useSite';

function Column({
  title,
  links,
}: {
  readonly title: string;
  readonly links: readonly PageLink[];
}): ReactElement {
  return (
    <section className="footer__column">
      <h2 className="footer__title">{title}</h2>
      <ul className="footer__list">
        {links.map(({ label, href }) => (
          <li key={href}>
            {href.startsWith('/') ? (
              <Link className="footer__link" to={href}>
                {label}
              </Link>
            ) : (
              <a className="footer__link" href={href} target="_blank" rel="noopener noreferrer">
                {label}
                <Icon name="external" />
                <span className="visually-hidden">{ja.footer.external}</span>
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Footer(): ReactElement {
  const { providerName, siteName, inquiryUrl, mailingUrl } = useSite();
  return (
    <footer className="footer">
      <div className="footer__inner">
        <div className="footer__brand">
          <Logo />
          <span>{siteName}</span>
        </div>
        <Column title={ja.footer.guides} links={guideLinks} />
        <Column title={ja.footer.references} links={apiLinks} />
        <Column
          title={ja.footer.support}
          links={[
            informationLink,
            { label: ja.footer.inquiry, href: inquiryUrl },
            { label: ja.footer.mailing, href: mailingUrl },
          ]}
        />
      </div>
      <p className="footer__copyright">{ja.footer.copyright(providerName)}</p>
    </footer>
  );
}
