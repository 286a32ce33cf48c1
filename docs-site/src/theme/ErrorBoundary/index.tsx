import { Component, type ReactElement, type ReactNode, useEffect } from 'react';
import { ja } from '../../strings/ja';

interface ErrorPageProps {
  readonly error: Error;
  again(): void;
}

/** Shown between navigation and footer if rendering the page throws. */
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

/** Shown instead of everything if rendering the navigation or the footer throws. */
export function CrashPage({ error, again }: ErrorPageProps): ReactElement {
  // Back leads to a page that did not throw. Renders again after two frames: the router needs one frame to navigate.
  useEffect(() => {
    const back = () => requestAnimationFrame(() => requestAnimationFrame(again));
    window.addEventListener('popstate', back);
    return () => window.removeEventListener('popstate', back);
  }, [again]);
  // Sets the title, because the page's title was removed with the page. Browsers use the first title in the head.
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
      {/* A full page load: the client-side navigation may be broken. */}
      <p>
        <a href="/">{ja.notFound.home}</a>
      </p>
    </main>
  );
}

interface Props {
  /** A new path clears the error. */
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
