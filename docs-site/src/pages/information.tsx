import { type ReactElement, useEffect, useState } from 'react';
import { ja } from '../strings/ja';
import { type Loaded, type LoadFailure, loadAnnouncements } from '../theme/Announcements/load';
import { renderAnnouncements } from '../theme/Announcements/markdown';
import { PageHead } from '../theme/PageHead';
import { useSite } from '../theme/useSite';

const reason = (failure: LoadFailure): string =>
  failure.kind === 'status' ? ja.information.status(failure.status) : ja.information[failure.kind];

export default function Information(): ReactElement {
  const { announcementsUrl } = useSite();
  const [loaded, setLoaded] = useState<Loaded>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setLoaded(undefined);
    void attempt;
    loadAnnouncements(announcementsUrl, gone.signal).then((result) => {
      if (!gone.signal.aborted) setLoaded(result);
    });
    return () => gone.abort();
  }, [announcementsUrl, attempt]);
  return (
    <main id="main" className="information" tabIndex={-1}>
      <h1>{ja.information.title}</h1>
      <p className="document__lead">{ja.information.description}</p>
      <noscript>
        <p className="admonition admonition--warning">
          {ja.information.noScript} <a href={announcementsUrl}>{announcementsUrl}</a>
        </p>
      </noscript>
      <div className="information__content" aria-live="polite" aria-busy={!loaded}>
        {!loaded ? (
          <p className="information__loading" role="status">
            <span className="spinner" />
            {ja.information.loading}
          </p>
        ) : 'failure' in loaded ? (
          <div className="information__error" role="alert">
            <h2>
              {ja.error.title} <span lang="en">({ja.error.titleEnglish})</span>
            </h2>
            <p>{ja.information.failed(reason(loaded.failure))}</p>
            <button type="button" className="button" onClick={() => setAttempt(attempt + 1)}>
              {ja.error.retry} <span lang="en">({ja.error.retryEnglish})</span>
            </button>
          </div>
        ) : loaded.nodes.length === 0 ? (
          <p className="information__empty">{ja.information.empty}</p>
        ) : (
          <div className="prose">
            {renderAnnouncements(
              loaded.nodes,
              new URL(announcementsUrl, window.location.href).href,
              window.location.origin,
            )}
          </div>
        )}
      </div>
    </main>
  );
}

export function Head(): ReactElement {
  return (
    <PageHead title={ja.information.title} description={ja.information.description} route="/information" />
  );
}
