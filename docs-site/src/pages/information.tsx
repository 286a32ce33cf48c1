import { type ReactElement, useEffect, useRef, useState } from 'react';
import { ja } from '../strings/ja';
import { type Loaded, type LoadFailure, loadAnnouncements } from '../theme/Announcements/load';
import { isFocusLost } from '../theme/focus';
import { PageHead } from '../theme/PageHead';
import { useSite } from '../theme/useSite';

const reason = (failure: LoadFailure): string =>
  failure.kind === 'status' ? ja.information.status(failure.status) : ja.information[failure.kind];

/** Focuses the first heading of the announcements, or the content if there is none. */
function focusContent(content: HTMLElement | null): void {
  const target = content?.querySelector<HTMLElement>('h2, h3, h4, h5, h6') ?? content;
  if (!target) return;
  target.tabIndex = -1;
  target.focus();
}

export default function Information(): ReactElement {
  const { announcementsUrl } = useSite();
  const content = useRef<HTMLDivElement>(null);
  const [loaded, setLoaded] = useState<Loaded>();
  const [loading, setLoading] = useState(true);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const aborter = new AbortController();
    setLoading(true);
    void attempt;
    loadAnnouncements(announcementsUrl, aborter.signal).then((result) => {
      if (aborter.signal.aborted) return;
      setLoaded(result);
      setLoading(false);
    });
    return () => aborter.abort();
  }, [announcementsUrl, attempt]);
  // The Retry button stays focused during a retry. A successful retry removes it, so the focus moves to the content.
  useEffect(() => {
    if (attempt > 0 && loaded && !('failure' in loaded) && isFocusLost()) focusContent(content.current);
  }, [attempt, loaded]);
  const progress = (
    <p className="information__loading" role="status">
      <span className="spinner" />
      {ja.information.loading}
    </p>
  );
  return (
    <main id="main" className="information" tabIndex={-1}>
      <h1>{ja.information.title}</h1>
      <p className="document__lead">{ja.information.description}</p>
      <noscript>
        <p className="admonition admonition--warning">
          {ja.information.noScript} <a href={announcementsUrl}>{announcementsUrl}</a>
        </p>
      </noscript>
      <div ref={content} className="information__content" aria-live="polite" aria-busy={loading}>
        {!loaded ? (
          progress
        ) : 'failure' in loaded ? (
          <div className="information__error" role="alert">
            <h2>
              {ja.error.title} <span lang="en">({ja.error.titleEnglish})</span>
            </h2>
            {loading ? progress : <p>{ja.information.failed(reason(loaded.failure))}</p>}
            <button
              type="button"
              className="button"
              aria-disabled={loading}
              onClick={() => !loading && setAttempt(attempt + 1)}
            >
              {ja.error.retry} <span lang="en">({ja.error.retryEnglish})</span>
            </button>
          </div>
        ) : loaded.html === '' ? (
          <p className="information__empty">{ja.information.empty}</p>
        ) : (
          // biome-ignore lint/security/noDangerouslySetInnerHtml: safe HTML of src/markdown.ts
          <div className="prose" dangerouslySetInnerHTML={{ __html: loaded.html }} />
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
