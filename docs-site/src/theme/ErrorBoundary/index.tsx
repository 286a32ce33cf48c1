import { Component, type ReactElement, type ReactNode, useEffect } from 'react';
import { ja } from '../../strings/ja';

interface ErrorPageProps {
  readonly error: Error;
  again(): void;
}

/** Inside navigation and footer: the page threw while it was rendered. */
export function ErrorPage({ error, again }: ErrorPageProps): ReactElement {
  return (
    <main id="main" className="status" tabIndex={-1}>
      <p className="status__code" lang="en">
        {ja.error.titleEnglish}
      </p>
      <h1>{ja.error.title}</h1>
      <pre className="status__detail">{error.message}</pre>
      <button type="button" className="button" onClick={again}>
        {ja.error.again} <span lang="en">({ja.error.againEnglish})</span>
      </button>
    </main>
  );
}

/** The last resort: navigation or footer themselves threw. */
export function CrashPage({ error, again }: ErrorPageProps): ReactElement {
  // Back leads to a page that did not throw. The router follows in the next frame, this in the one after it.
  useEffect(() => {
    const back = () => requestAnimationFrame(() => requestAnimationFrame(again));
    window.addEventListener('popstate', back);
    return () => window.removeEventListener('popstate', back);
  }, [again]);
  // The page's own title is gone with the page. The first of several titles counts, also against one that comes later.
  useEffect(() => {
    const title = document.createElement('title');
    title.textContent = `${ja.error.crashed} (${ja.error.crashedEnglish})`;
    document.head.prepend(title);
    return () => title.remove();
  }, []);
  return (
    <main id="main" className="status status--crash" tabIndex={-1}>
      <h1>
        <span lang="en">{ja.error.crashedEnglish}</span>
        <br />
        {ja.error.crashed}
      </h1>
      <pre className="status__detail">{error.message}</pre>
      <button type="button" className="button" onClick={again}>
        {ja.error.again} <span lang="en">({ja.error.againEnglish})</span>
      </button>
      {/* A full load: what threw is not trusted to navigate. */}
      <p>
        <a href="/">{ja.notFound.home}</a>
      </p>
    </main>
  );
}

interface Props {
  /** Another page is tried again. */
  readonly path: string;
  readonly fallback: (props: ErrorPageProps) => ReactElement;
  readonly children: ReactNode;
}

export class ErrorBoundary extends Component<Props, { readonly error: Error | null; readonly path: string }> {
  override state = { error: null as Error | null, path: this.props.path };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  static getDerivedStateFromProps(
    { path }: Props,
    state: { path: string },
  ): { error: null; path: string } | null {
    return path === state.path ? null : { error: null, path };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return <this.props.fallback error={error} again={() => this.setState({ error: null })} />;
  }
}
