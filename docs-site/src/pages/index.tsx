import { Link } from 'gatsby';
import type { ReactElement } from 'react';
import { home } from '../theme/Home/content';
import { Picture } from '../theme/Home/Picture';
import { Icon } from '../theme/Icon';
import { PageHead } from '../theme/PageHead';
import { useSite } from '../theme/useSite';

export default function Home(): ReactElement {
  const { siteName } = useSite();
  return (
    <main id="main" className="home" tabIndex={-1}>
      <section className="hero">
        <div className="hero__inner">
          <div className="hero__text">
            <p className="hero__name">{siteName}</p>
            <h1 className="hero__title">{home.title}</h1>
            <p className="hero__lead">{home.lead}</p>
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
        <h2 id="ways">{home.waysTitle}</h2>
        <div className="ways">
          {home.ways.map(({ icon, title, href, text, more }) => (
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
        <h2 id="flow">{home.stepsTitle}</h2>
        <ol className="flow">
          {home.steps.map(({ title, text, href }) => (
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
  return <PageHead title={home.name} description={home.description} route="/" />;
}
