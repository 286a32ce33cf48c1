import type { ReactElement, ReactNode } from 'react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { ja } from '../../strings/ja';
import type { DocumentPage } from '../../types';
import { versions } from '../../versions';
import { AnnouncementBar } from '../AnnouncementBar';
import { BackToTopButton } from '../BackToTopButton';
import { DocSidebar } from '../DocSidebar';
import { CrashPage, ErrorBoundary, ErrorPage } from '../ErrorBoundary';
import { repeatEarlyClick } from '../earlyClick';
import { Footer } from '../Footer';
import { Loading } from '../Loading';
import { Navbar } from '../Navbar';
import { Part } from '../Part';
import { SkipLink } from '../SkipLink';

export interface LayoutProps {
  readonly location: { readonly pathname: string; readonly search?: string; readonly hash?: string };
  readonly pageContext: Partial<DocumentPage>;
  readonly children?: ReactNode;
}

/** Announces navigations to screen readers in Japanese. Gatsby's announcer speaks English and is switched off. */
function Announcer({ path }: { readonly path: string }): ReactElement {
  const [text, setText] = useState('');
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    setText(path ? ja.routeAnnounced(document.querySelector('h1')?.textContent ?? document.title) : '');
  }, [path]);
  return (
    <div className="visually-hidden" role="status" data-announcer="">
      {text}
    </div>
  );
}

/** Frame of every page. It stays mounted during navigations, so the sidebar keeps its state. */
export function Layout({ location, pageContext, children }: LayoutProps): ReactElement {
  const path = location.pathname.replace(/(.)\/$/, '$1');
  const { search = '', hash = '' } = location;
  const { sidebar, kind } = pageContext;
  const parts = useRef(kind && sidebar ? 4 : 3);
  const partDone = useCallback(() => {
    parts.current -= 1;
    if (parts.current !== 0) return;
    document.documentElement.dataset['ready'] = 'true';
    repeatEarlyClick(false);
  }, []);
  const page = (
    <Part then={partDone}>
      <ErrorBoundary path={path} fallback={ErrorPage}>
        {children}
      </ErrorBoundary>
    </Part>
  );
  return (
    <ErrorBoundary path={path} fallback={CrashPage}>
      <SkipLink />
      <AnnouncementBar />
      <Part then={partDone}>
        <Navbar
          path={path}
          search={search}
          hash={hash}
          sidebar={sidebar}
          versions={pageContext.versions ?? versions}
          version={pageContext.version ?? 'current'}
        />
      </Part>
      {kind && sidebar ? (
        <div className={`document document--${kind}`}>
          <Part then={partDone}>
            <DocSidebar
              key={kind === 'guide' ? 'guides' : path}
              categories={sidebar}
              path={path}
              hash={hash}
            />
          </Part>
          {page}
        </div>
      ) : (
        <div className="page">{page}</div>
      )}
      <Part then={partDone}>
        <Footer />
      </Part>
      <BackToTopButton />
      <Loading />
      <Announcer path={path} />
    </ErrorBoundary>
  );
}
